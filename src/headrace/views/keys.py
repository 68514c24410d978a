"""Keys of views: from what is asked for to the bytes that a row is found by."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from headrace.errors import ViewError
from headrace.plan.view import View
from headrace.schema.types import (
    Binary,
    Choice,
    Day,
    Exact,
    FieldType,
    Moment,
    Truth,
    Uuid,
    Whole,
)
from headrace.views.answers import moment_text

_ESCAPED = re.compile(r"\\u00[0-9a-f]{2}")
_LARGEST = 2**63


def key_of(view: View, asked: str | Mapping[str, str]) -> bytes:
    """Give the key of one row.

    Args:
        view: Whose key.
        asked: The key as a row's answer tells it, or the values of its columns.

    Raises:
        ViewError: [view-key-mismatch] it is no key of this view.
    """
    if isinstance(asked, str):
        return _whole(view, asked)
    missing = [name for name in view.key if name not in asked]
    if missing:
        raise _mismatch(view, f'"{missing[0]}" is not given')
    return _of_columns(view, asked)


def prefix_of(view: View, asked: str | Mapping[str, str]) -> bytes:
    """Give what the keys of some rows begin with.

    Args:
        view: Whose keys.
        asked: The beginning of the key, or the values of its first columns.

    Raises:
        ViewError: [view-key-mismatch] no key of this view begins so.
    """
    if isinstance(asked, str):
        return asked.encode()
    return _of_columns(view, asked) if asked else b""


def _whole(view: View, text: str) -> bytes:
    if view.is_plain:
        return _text(view, view.key[0], text).encode()
    try:
        told = json.loads(text, parse_float=Decimal)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        if len(view.key) == 1:
            return _of_columns(view, {view.key[0]: text})
        raise _mismatch(view, f'"{text}" is not a JSON object of them')
    values = {n: v if v is None else spoken(v) for n, v in told.items()}
    missing = [name for name in view.key if name not in values]
    if missing:
        raise _mismatch(view, f'"{missing[0]}" is not given')
    return _of_columns(view, values)


def _of_columns(view: View, asked: Mapping[str, str | None]) -> bytes:
    """Put the columns of a key together, or the first of them."""
    unknown = [name for name in asked if name not in view.key]
    if unknown:
        raise _mismatch(view, f'"{unknown[0]}" is none of them')
    first = view.key[: len(asked)]
    skipped = [name for name in first if name not in asked]
    if skipped:
        raise _mismatch(view, f'"{skipped[0]}" comes before, and is not given')
    if view.is_plain:
        only = asked[view.key[0]]
        return _text(view, view.key[0], only or "").encode()
    parts = ",".join(
        f"{_quoted(name)}:{_json(view, name, asked[name])}" for name in first
    )
    return f"{{{parts}{'}' if len(first) == len(view.key) else ','}".encode()


def _json(view: View, name: str, value: str | None) -> str:
    if value is None:
        return "null"
    text = _text(view, name, value)
    kind = view.columns[name].type
    return text if isinstance(kind, Whole | Exact | Truth) else _quoted(text)


def _quoted(text: str) -> str:
    """Write a text in JSON as the rows' own writer does."""
    told = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{found[0][2:].upper()}", told)


def _text(view: View, name: str, value: str) -> str:
    """Give a value as the key holds it, in the one way that its type is written."""
    kind = view.columns[name].type
    for type_, write in _WRITTEN.items():
        if isinstance(kind, type_):
            try:
                return write(kind, value)
            except (ValueError, InvalidOperation) as error:
                raise _mismatch(
                    view, f'"{value}" is no {kind.sql}, as "{name}" is'
                ) from error
    return value


def _whole_number(_kind: FieldType, value: str) -> str:
    number = int(value)
    if not -_LARGEST <= number < _LARGEST:
        raise ValueError("beyond 64 bits")
    return str(number)


def _truth(_kind: FieldType, value: str) -> str:
    if value.lower() not in {"true", "false"}:
        raise ValueError("neither true nor false")
    return value.lower()


def _choice(kind: Any, value: str) -> str:
    if value not in kind.symbols:
        raise ValueError("none of the symbols")
    return value


def _moment(_kind: FieldType, value: str) -> str:
    return moment_text(datetime.fromisoformat(value).astimezone(UTC))


def _exact(kind: Any, value: str) -> str:
    number = Decimal(value)
    if not number.is_finite():
        raise ValueError("no number")
    return f"{number.quantize(Decimal(1).scaleb(-kind.scale)):f}"


def _binary(_kind: FieldType, value: str) -> str:
    return base64.b64encode(base64.b64decode(value, validate=True)).decode()


_WRITTEN: dict[type[FieldType], Callable[[Any, str], str]] = {
    Whole: _whole_number,
    Truth: _truth,
    Choice: _choice,
    Uuid: lambda _kind, value: str(UUID(value)),
    Day: lambda _kind, value: date.fromisoformat(value).isoformat(),
    Moment: _moment,
    Exact: _exact,
    Binary: _binary,
}


def spoken(value: Any) -> str:
    """Give a value of Python's as it is asked for.

    Example:
        >>> spoken(7), spoken(True), spoken(date(2026, 1, 2))
        ('7', 'true', '2026-01-02')
    """
    match value:
        case bool():
            return str(value).lower()
        case datetime():
            return moment_text(value)
        case date():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode()
    return str(value)


def _mismatch(view: View, what: str) -> ViewError:
    columns = ", ".join(f"{f.name} {f.type.sql}" for f in view.key_fields)
    return ViewError(
        "view-key-mismatch",
        f'this is no key of view "{view.name}": {what}',
        detail=f"its key is {columns}.",
        hint="give a value for each, or for the first ones to scan by."
        if len(view.key) > 1
        else None,
    )
