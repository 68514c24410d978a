"""Confluent's wire format: a zero byte, the schema's id in four, then the value."""

from __future__ import annotations

import struct

from headrace.errors import SchemaError

HEADER_LENGTH = 5

_HEADER = struct.Struct(">bI")


def frame(schema_id: int, body: bytes) -> bytes:
    r"""Put the header before a value.

    Example:
        >>> frame(7, b"{}")
        b'\x00\x00\x00\x00\x07{}'
    """
    return _HEADER.pack(0, schema_id) + body


def unframe(value: bytes) -> tuple[int, bytes]:
    r"""Take a value apart into the id of its schema and the rest.

    In Protobuf the rest begins with the path to the message's type in its file;
    a zero byte stands for the first one.

    Raises:
        SchemaError: [wire-header-absent] the value does not begin with a header.

    Example:
        >>> unframe(b"\x00\x00\x00\x00\x07{}")
        (7, b'{}')
    """
    if len(value) < HEADER_LENGTH or value[0] != 0:
        raise SchemaError(
            "wire-header-absent",
            "the value does not begin with a schema's id",
            detail=f"its first bytes are {value[:HEADER_LENGTH].hex(' ') or 'none'}; "
            "a zero byte and four of an id are required.",
            hint="it was written without a registry: read it as plain JSON.",
        )
    _, schema_id = _HEADER.unpack_from(value)
    return schema_id, value[HEADER_LENGTH:]
