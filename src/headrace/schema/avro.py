"""From a Spark schema to an Avro schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from headrace.schema.columns import Column, columns, require_name, unsupported

_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_TYPES: dict[str, Any] = {
    "string": "string",
    "boolean": "boolean",
    "byte": "int",
    "short": "int",
    "integer": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "binary": "bytes",
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "date": {"type": "int", "logicalType": "date"},
}


def avro_schema(schema: Mapping[str, Any], name: str) -> str:
    """Write the Avro schema of events whose fields are those of a Spark schema.

    The writer in the JVM counts on it: a field that can be null is a union of null
    and its type in this order, and an enum whose symbols Avro cannot name is a text.

    Raises:
        SchemaError: [schema-name-unsupported], [schema-type-unsupported] Avro has
            no such name or type.

    Example:
        >>> field = {"name": "n", "type": "long", "nullable": True, "metadata": {}}
        >>> print(avro_schema({"type": "struct", "fields": [field]}, "Counted"))
        {"type": "record", "name": "Counted", "fields": [{"name": "n", "type": \
["null", "long"], "default": null}]}
    """
    return json.dumps(_record(schema, require_name(name, "Avro")))


def _record(struct: Mapping[str, Any], name: str) -> dict[str, Any]:
    fields = [_field(column, name) for column in columns(struct)]
    return {"type": "record", "name": name, "fields": fields}


def _field(column: Column, record: str) -> dict[str, Any]:
    require_name(column.name, "Avro")
    field: dict[str, Any] = {"name": column.name, "type": _type(column, record)}
    if column.nullable:
        # Older readers and writers know nothing of the field, and read null.
        field["default"] = None
    return field


def _type(column: Column, record: str) -> Any:
    required = _required_type(column, record)
    return ["null", required] if column.nullable else required


def _required_type(column: Column, record: str) -> Any:
    # Avro's named types share one room: each is named for the way to it.
    name = f"{record}_{column.name}"
    if column.kind == "struct":
        return _record(column.type, name)
    if column.kind == "array":
        return {"type": "array", "items": _type(column.element, record)}
    if column.digits:
        precision, scale = column.digits
        decimal = {"type": "bytes", "logicalType": "decimal"}
        return decimal | {"precision": precision, "scale": scale}
    if column.symbols and all(map(_SYMBOL.fullmatch, column.symbols)):
        return {"type": "enum", "name": name, "symbols": column.symbols}
    if column.is_uuid:
        return {"type": "string", "logicalType": "uuid"}
    if column.kind in _TYPES:
        return _TYPES[column.kind]
    raise unsupported(column, "Avro", "it has no type for it that readers agree on.")
