"""An event as one line of JSON, whatever its bytes are."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NoReturn

from headrace.log.places import EPOCH
from headrace.log.reading import StoredEvent
from headrace.log.wire import Schema, SchemaBook, decode_avro
from headrace.schema.wire import HEADER_LENGTH


def event_line(event: StoredEvent, book: SchemaBook | None = None) -> str:
    """Give an event with its place, its time and its headers.

    Example:
        >>> line = event_line(StoredEvent("t", 0, 7, 1500, b"k", b'{"n": 1.50}', ()))
        >>> line[line.index('"key"'):]
        '"key": "k", "value": {"n": 1.50}, "headers": []}'
    """
    headers = ", ".join(
        f'{{"key": {_written(name)}, "value": {value_json(value)}}}'
        for name, value in event.headers
    )
    key, value = key_json(event.key, book), value_json(event.value, book)
    return (
        f'{{"topic": {_written(event.topic)}, "partition": {event.partition}, '
        f'"offset": {event.offset}, "timestamp": {_written(time_text(event.time))}, '
        f'"key": {key}, "value": {value}, "headers": [{headers}]}}'
    )


def value_json(data: bytes | None, book: SchemaBook | None = None) -> str:
    r"""Give a value as JSON on one line; null is no value at all: a tombstone.

    JSON is given as it was written, digit for digit. JSON's own null is given as
    text, so that it is not taken for a tombstone.

    Example:
        >>> value_json(b'{"cents": 1.10}'), value_json(b"hi"), value_json(b"\xff")
        ('{"cents": 1.10}', '"hi"', '{"base64": "/w=="}')
    """
    if data is None:
        return "null"
    schema = book.schema_of(data) if book is not None else None
    if schema is not None:
        return _by_schema(data, schema)
    text = _text(data)
    if text is None:
        return _binary(data)
    return _written(text) if text.strip() == "null" else _json(text) or _written(text)


def key_json(data: bytes | None, book: SchemaBook | None = None) -> str:
    """Give a key as JSON; it is text unless a schema says otherwise.

    Example:
        >>> key_json(b"42"), key_json(None)
        ('"42"', 'null')
    """
    if data is None:
        return "null"
    schema = book.schema_of(data) if book is not None else None
    if schema is not None:
        return _by_schema(data, schema)
    text = _text(data)
    return _binary(data) if text is None else _written(text)


def time_text(milliseconds: int | None) -> str | int | None:
    """Give a time of the log in UTC, or as it is if no calendar reaches it.

    Example:
        >>> time_text(0)
        '1970-01-01T00:00:00.000Z'
    """
    if milliseconds is None:
        return None
    try:
        moment = EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return milliseconds
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _by_schema(data: bytes, schema: Schema) -> str:
    if schema.kind == "AVRO":
        try:
            return _written(_plain(decode_avro(data, schema)))
        except ValueError as error:
            return _binary(data, schema_id=schema.id, problem=str(error))
    if schema.kind == "JSON":
        return value_json(data[HEADER_LENGTH:])
    return _binary(data, schema_id=schema.id)


def _binary(data: bytes, **more: object) -> str:
    return _written({"base64": base64.b64encode(data).decode(), **more})


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _text(data: bytes) -> str | None:
    """Give bytes as text; bytes with a NUL are no text, though UTF-8 has one."""
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def _json(text: str) -> str | None:
    """Give JSON on one line, otherwise as it was written, or None if it is none."""
    try:
        # Numbers stay text: they are not to be rounded, however long they are.
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    # Line breaks are between JSON's parts only: inside a text they are escaped.
    return text.strip().replace("\r", " ").replace("\n", " ")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _plain(value: Any) -> Any:
    """Give what Avro holds in JSON's types; what those lack becomes text."""
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Sequence):
        return [_plain(part) for part in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
