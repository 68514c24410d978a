"""From a Spark schema to a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headrace.schema.columns import Column, columns, unsupported

# The draft that registries check evolution by.
_DRAFT = "http://json-schema.org/draft-07/schema#"

_TYPES: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    **{kind: {"type": "integer"} for kind in ("byte", "short", "integer", "long")},
    "float": {"type": "number"},
    "double": {"type": "number"},
    "binary": {"type": "string", "contentEncoding": "base64"},
    "timestamp": {"type": "string", "format": "date-time"},
    "date": {"type": "string", "format": "date"},
}


def json_schema(schema: Mapping[str, Any], name: str) -> str:
    """Write the JSON Schema of events whose fields are those of a Spark schema.

    It says of its writer that no other fields are written. Registries then take a
    new optional field for what it is; to an open schema they would refuse it, as
    somebody might have written a field of that name before.

    Raises:
        SchemaError: [schema-type-unsupported] JSON has no such type.

    Example:
        >>> field = {"name": "n", "type": "long", "nullable": False, "metadata": {}}
        >>> text = json_schema({"type": "struct", "fields": [field]}, "Counted")
        >>> json.loads(text)["properties"]
        {'n': {'type': 'integer'}}
    """
    head = {"$schema": _DRAFT, "title": name}
    return json.dumps(head | _object(schema), ensure_ascii=False)


def _object(struct: Mapping[str, Any]) -> dict[str, Any]:
    fields = list(columns(struct))
    return {
        "type": "object",
        "properties": {column.name: _type(column) for column in fields},
        "required": [column.name for column in fields if not column.nullable],
        "additionalProperties": False,
    }


def _type(column: Column) -> dict[str, Any]:
    schema = _required_type(column)
    if not column.nullable:
        return schema
    if "enum" in schema:
        return {"enum": [*schema["enum"], None]}
    return schema | {"type": [schema["type"], "null"]}


def _required_type(column: Column) -> dict[str, Any]:
    if column.kind == "struct":
        return _object(column.type)
    if column.kind == "array":
        return {"type": "array", "items": _type(column.element)}
    if column.symbols:
        return {"enum": column.symbols}
    if column.is_uuid:
        return {"type": "string", "format": "uuid"}
    if column.digits:
        return {"type": "number"}
    if column.kind in _TYPES:
        return dict(_TYPES[column.kind])
    raise unsupported(column, "JSON", "there is no one way to write it as JSON.")
