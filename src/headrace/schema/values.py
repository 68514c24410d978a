"""Events as JSON: how an instance of an event's class is written."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from headrace.schema.hints import enum_text


def to_json(event: Any) -> bytes:
    """Write an event as the JSON that pipelines read.

    Decimals are texts, so that no reader takes them for floating-point numbers;
    times have their offset, and a time without one counts as UTC. What JSON has no
    number for is the text ``NaN``, ``Infinity`` or ``-Infinity``.

    Example:
        >>> from headrace import event
        >>> @event()
        ... class Payment:
        ...     card: str
        ...     amount: Decimal
        >>> to_json(Payment("c1", Decimal("9.90")))
        b'{"card": "c1", "amount": "9.90"}'
    """
    return json.dumps(plain(event), ensure_ascii=False).encode()


def plain(value: Any) -> Any:
    """Give a value as JSON knows values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: plain(getattr(value, field.name)) for field in fields}
    for kind, write in _WRITTEN.items():
        if isinstance(value, kind):
            return write(value)
    return value


def _moment(value: datetime) -> str:
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return moment.isoformat()


def _real(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"


# In this order: a datetime is a date too, and an enum may be a text.
_WRITTEN: dict[type, Callable[[Any], Any]] = {
    list: lambda values: [plain(value) for value in values],
    Enum: enum_text,
    datetime: _moment,
    date: date.isoformat,
    float: _real,
    Decimal: str,
    UUID: str,
    bytes: lambda value: base64.b64encode(value).decode(),
}
