"""From Python's type hints to the types of an event's fields."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin
from uuid import UUID

from headrace.errors import SchemaError
from headrace.schema.origin import declared_at
from headrace.schema.types import (
    Binary,
    Choice,
    Day,
    Exact,
    Field,
    FieldType,
    ListOf,
    Moment,
    Real,
    Record,
    Text,
    Truth,
    Uuid,
    Whole,
)

_PLAIN: dict[type, FieldType] = {
    str: Text(),
    int: Whole(),
    float: Real(),
    bool: Truth(),
    Decimal: Exact(),
    datetime: Moment(),
    date: Day(),
    UUID: Uuid(),
    bytes: Binary(),
}

SUPPORTED = (
    "str, int, float, bool, Decimal, datetime, date, UUID, bytes, enums, "
    "lists, other events, and `| None` of each"
)


def digits(precision: int, scale: int) -> Exact:
    """Say how many digits a decimal has.

    Example:
        ``amount: Annotated[Decimal, digits(12, 2)]`` has ten before the point.

    Raises:
        SchemaError: [digits-out-of-range] no engine holds such a number.
    """
    if not (1 <= precision <= 38 and 0 <= scale <= precision):
        raise SchemaError(
            "digits-out-of-range",
            f"digits({precision}, {scale}) is not a decimal",
            detail="1 to 38 digits, of which none to all lie behind the point.",
            where=declared_at(),
        )
    return Exact(precision, scale)


def fields_of(cls: type, where: str, names: dict[str, Any]) -> Record:
    """Read the fields of a dataclass from its type hints, in their order.

    Args:
        cls: The dataclass that declares the event.
        where: Its file and line.
        names: What hints that are texts may name.

    Raises:
        SchemaError: [type-unsupported] a hint has no type of ours;
            [hint-unresolved] a hint cannot be evaluated;
            [field-name-reserved], [field-name-taken] a name cannot be a column's;
            [field-not-inherited] a base class has hints and is no event;
            [event-empty] there are no fields.
    """
    # Not all that a class holds: `date: date | None = None` hides the type it names.
    inner = {name: value for name, value in vars(cls).items() if inspect.isclass(value)}
    try:
        hints = typing.get_type_hints(cls, names, names | inner, include_extras=True)
    except (AttributeError, NameError, SyntaxError, TypeError) as error:
        raise SchemaError(
            "hint-unresolved",
            f'a type hint of "{cls.__name__}" cannot be evaluated',
            detail=str(error),
            hint="define or import it above the event.",
            where=where,
        ) from error
    fields = [field.name for field in dataclasses.fields(cls)]
    for name, hint in hints.items():
        if name not in fields and not _is_no_field(hint):
            raise _not_inherited(cls, name, where)
    if not fields:
        raise SchemaError(
            "event-empty",
            f'event "{cls.__name__}" has no fields',
            hint="give each field a type hint: `card_id: str`.",
            where=where,
        )
    _require_different_names(cls, fields, where)
    return Record(tuple(_field(name, hints[name], cls, where) for name in fields))


def _is_no_field(hint: Any) -> bool:
    """Tell what belongs to the class, or is only said to the dataclass."""
    return (
        get_origin(hint) is ClassVar
        or hint is ClassVar
        or hint is dataclasses.KW_ONLY
        or isinstance(hint, dataclasses.InitVar)
    )


def _not_inherited(cls: type, name: str, where: str) -> SchemaError:
    plain = next(b for b in cls.__mro__ if name in inspect.get_annotations(b))
    return SchemaError(
        "field-not-inherited",
        f'"{cls.__name__}" does not inherit "{name}" from "{plain.__name__}"',
        detail=f'"{plain.__name__}" is not an event, and Python takes the fields of a '
        "dataclass from dataclasses alone.",
        hint=f"put `@event()` above it too; or hint `{name}: ClassVar[...]`, if it "
        "belongs to the class.",
        where=where,
    )


def _require_different_names(cls: type, names: list[str], where: str) -> None:
    """Refuse names that Spark would take for one."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise SchemaError(
                "field-name-taken",
                f'"{cls.__name__}" has the fields "{other}" and "{name}"',
                detail="Spark's SQL does not tell capital letters from small ones.",
                hint="give one of them another name.",
                where=where,
            )


def _field(name: str, hint: Any, cls: type, where: str) -> Field:
    if name.startswith("_"):
        raise SchemaError(
            "field-name-reserved",
            f'"{cls.__name__}.{name}" begins with an underscore',
            detail="columns with such names carry an event's origin through a stream.",
            hint=f'rename it to "{name.lstrip("_")}".',
            where=where,
        )
    inner, required = _without_none(hint)
    found = _type_of(inner)
    if found is None:
        shown = getattr(inner, "__name__", str(inner))
        raise SchemaError(
            "type-unsupported",
            f'"{cls.__name__}.{name}" has the type {shown}, which no event can carry',
            detail=f"supported: {SUPPORTED}.",
            where=where,
        )
    return Field(name, found, required)


def _without_none(hint: Any) -> tuple[Any, bool]:
    """Take `| None` from a hint, and tell whether a value is required."""
    if get_origin(hint) is Annotated:
        base, *notes = get_args(hint)
        inside, required = _without_none(base)
        return (hint if required else Annotated[inside, *notes]), required
    if get_origin(hint) in {Union, types.UnionType}:
        inner = [part for part in get_args(hint) if part is not type(None)]
        if len(inner) == 1:
            return inner[0], len(inner) == len(get_args(hint))
    return hint, True


def _type_of(hint: Any) -> FieldType | None:
    if get_origin(hint) is Annotated:
        base, *notes = get_args(hint)
        exact = [note for note in notes if isinstance(note, Exact)]
        return exact[0] if base is Decimal and exact else _type_of(base)
    if get_origin(hint) is list:
        element, required = _without_none(get_args(hint)[0])
        inside = _type_of(element)
        return None if inside is None else ListOf(inside, required)
    if not isinstance(hint, type):
        return None
    if issubclass(hint, Enum):
        return Choice(tuple(enum_text(member) for member in hint))
    # Of the class itself: one that merely inherits an event is not declared.
    nested = vars(hint).get("__event__")
    return nested.record if nested is not None else _PLAIN.get(hint)


def enum_text(member: Enum) -> str:
    """Give the text that stands for an enum's member: its value, if that is a text."""
    return member.value if isinstance(member.value, str) else member.name
