"""What a rig is fed and what comes out of it, as records of a topic."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from headrace.event import event_type
from headrace.schema.types import FieldType, ListOf, Real, Record
from headrace.schema.values import plain

BEGINNING = datetime(2020, 1, 1, tzinfo=UTC)
"""The time of an event that has none."""


@dataclass(frozen=True)
class DeadLetter:
    """An input that could not be read: its bytes, the reason, and where it was."""

    value: bytes | None
    reason: str
    detail: str
    topic: str
    partition: int
    offset: int


@dataclass(frozen=True)
class Tombstone:
    """A record without a value, which takes away the row of its key."""

    key: str


def time_of(event: Any) -> datetime:
    """Give the time of an event."""
    name = event_type(type(event)).time
    return BEGINNING if name is None else getattr(event, name)


def key_of(event: Any) -> bytes | None:
    """Give the key of a record, as an output of ours would write it."""
    if isinstance(event, Tombstone):
        return event.key.encode()
    if event is None or isinstance(event, bytes):
        return None
    name = event_type(type(event)).key
    value = None if name is None else plain(getattr(event, name))
    return None if value is None else str(value).encode()


def with_floats(value: Any, type_: FieldType) -> Any:
    """Give floating-point numbers as such, where all numbers with a point are exact."""
    match type_:
        case Record() if isinstance(value, dict):
            kinds = {field.name: field.type for field in type_}
            return {name: with_floats(v, kinds[name]) for name, v in value.items()}
        case ListOf() if isinstance(value, list):
            return [with_floats(element, type_.element) for element in value]
        case Real() if isinstance(value, Decimal):
            return float(value)
    return value


def dead_letter(record: dict[str, Any]) -> DeadLetter:
    """Read a dead letter from the record that was sent."""
    headers = {
        header["key"]: base64.b64decode(header["value"]).decode()
        for header in record["headers"]
    }
    value = record["value"]
    return DeadLetter(
        value=None if value is None else base64.b64decode(value),
        reason=headers["headrace.reason"],
        detail=headers["headrace.detail"],
        topic=headers["headrace.origin.topic"],
        partition=int(headers["headrace.origin.partition"]),
        offset=int(headers["headrace.origin.offset"]),
    )
