"""Events: immutable facts with a key and an event time, declared as classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast, dataclass_transform

from headrace.errors import SchemaError
from headrace.schema.hints import fields_of
from headrace.schema.keys import why_no_key
from headrace.schema.origin import declared_at, names_in_sight
from headrace.schema.types import Moment, Record

_Class = TypeVar("_Class", bound=type[Any])


@dataclass(frozen=True)
class EventType:
    """What headrace knows of an event's class."""

    name: str
    record: Record
    key: str | None
    time: str | None
    where: str


@dataclass_transform(frozen_default=True)
def event(
    *, key: str | None = None, time: str | None = None
) -> Callable[[_Class], _Class]:
    """Declare an event; the class becomes a frozen dataclass.

    Args:
        key: The field that events are keyed and partitioned by.
        time: The field that holds when the event happened, a ``datetime``.

    Raises:
        SchemaError: The declaration does not hold; the error names file and line.

    Example:
        >>> from datetime import datetime
        >>> @event(key="card_id", time="made_at")
        ... class Payment:
        ...     card_id: str
        ...     made_at: datetime
        ...     note: str | None = None
        >>> event_type(Payment).record.sql
        'struct<card_id:string,made_at:timestamp,note:string>'
    """
    where = declared_at()

    def declare(cls: _Class) -> _Class:
        made = _frozen_dataclass(cls, where)
        record = fields_of(made, where, names_in_sight())
        if key is not None:
            _require_field(cls, record, "key", key, where)
            _require_key_type(cls, record, key, where)
        if time is not None:
            _require_field(cls, record, "time", time, where)
            if not isinstance(record[time].type, Moment):
                raise SchemaError(
                    "time-not-a-datetime",
                    f'the event time "{cls.__name__}.{time}" is not a datetime',
                    hint=f"declare it as `{time}: datetime`.",
                    where=where,
                )
        made.__event__ = EventType(cls.__name__, record, key, time, where)
        return made

    return declare


def event_type(cls: type) -> EventType:
    """Give what `event` has noted about a class.

    Raises:
        SchemaError: [not-an-event] the class was not declared with ``@event``.
    """
    # Of the class itself: one that inherits an event has fields of its own.
    found = getattr(cls, "__dict__", {}).get("__event__")
    if not isinstance(found, EventType):
        name = getattr(cls, "__name__", repr(cls))
        raise SchemaError(
            "not-an-event",
            f'"{name}" is not an event',
            hint='declare it with `@event(key="...", time="...")` above the class.',
            where=declared_at(),
        )
    return found


def _frozen_dataclass(cls: _Class, where: str) -> _Class:
    try:
        return cast("_Class", dataclasses.dataclass(frozen=True)(cls))
    except (TypeError, ValueError) as error:
        raise SchemaError(
            "event-not-a-dataclass",
            f'Python cannot make "{cls.__name__}" a frozen dataclass',
            detail=f"{error}.",
            hint="fields with a default come last, a default that can change is "
            "given as `field(default_factory=...)`, and what a class inherits from "
            "is an event too.",
            where=where,
        ) from error


def _require_key_type(cls: type[Any], record: Record, name: str, where: str) -> None:
    kind = record[name].type
    reason = why_no_key(kind)
    if reason is not None:
        raise SchemaError(
            "key-type-unsupported",
            f'"{cls.__name__}.{name}" of type {kind.sql} cannot be a key',
            detail=reason,
            hint="choose a field of another type, or leave the key out here and "
            'key an output by a derived column: sinks.kafka(topic, key="...").',
            where=where,
        )


def _require_field(
    cls: type[Any], record: Record, role: str, name: str, where: str
) -> None:
    if name not in record:
        raise SchemaError(
            "event-field-unknown",
            f'the {role} of "{cls.__name__}" is "{name}", which is not a field',
            detail=f"its fields are {', '.join(record.names)}.",
            where=where,
        )
    if not record[name].required:
        raise SchemaError(
            "event-field-optional",
            f'the {role} "{cls.__name__}.{name}" may be None',
            detail=f"every event needs a {role}.",
            hint=f"take `| None` from `{name}`.",
            where=where,
        )
