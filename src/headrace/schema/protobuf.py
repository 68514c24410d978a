"""From a Spark schema to Protobuf: numbers for its fields, and a ``.proto`` text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.errors import SchemaError
from headrace.schema.columns import Column, columns, require_name, unsupported
from headrace.schema.proto_text import ProtoMessage, first_message

NUMBER = "number"
_TIMESTAMP = "google.protobuf.Timestamp"
# Numbers that Protobuf keeps for itself.
_OWN_NUMBERS = range(19000, 20000)

# Our type first; the others have the same bytes on the wire and fewer values.
_TYPES: dict[str, tuple[str, ...]] = {
    "string": ("string",),
    "boolean": ("bool",),
    "integer": ("int32",),
    "long": ("int64", "int32", "uint32"),
    "float": ("float",),
    "double": ("double",),
    "binary": ("bytes",),
    "timestamp": (_TIMESTAMP,),
    "date": ("string",),
}


def numbered(schema: Mapping[str, Any], latest: str | None) -> dict[str, Any]:
    """Give each field its number, in the metadata ``number``.

    Fields keep the numbers that the subject's latest schema gives them by name.
    New ones get numbers that were never used.

    Args:
        schema: A Spark schema.
        latest: The text of the latest registered schema, if there is one.

    Raises:
        SchemaError: [schema-incompatible] a field has another type there;
            [schema-type-unsupported] Protobuf has no such type.
    """
    known = first_message(latest) if latest else None
    return _numbered(schema, known or ProtoMessage())


def _numbered(struct: Mapping[str, Any], known: ProtoMessage) -> dict[str, Any]:
    fields = []
    highest = max(known.numbers, default=0)
    for column, field in zip(columns(struct), struct["fields"], strict=True):
        before = known.fields.get(column.name)
        if before:
            _require_same(column, before.type, before.repeated)
            number = before.number
        else:
            highest += 1
            while highest in _OWN_NUMBERS:
                highest += 1
            number = highest
        inside = known.messages.get(before.type) if before else None
        fields.append(
            dict(field)
            | {"type": _numbered_type(column, inside or ProtoMessage())}
            | {"metadata": {**column.metadata, NUMBER: number}}
        )
    return {"type": "struct", "fields": fields}


def _numbered_type(column: Column, known: ProtoMessage) -> Any:
    if column.kind == "struct":
        return _numbered(column.type, known)
    if column.kind == "array":
        return column.type | {"elementType": _numbered_type(column.element, known)}
    return column.type


def _require_same(column: Column, type_: str, repeated: bool) -> None:
    inner = column.element if column.kind == "array" else column
    wanted = (type_,) if inner.kind == "struct" else _names(inner)
    if type_.removeprefix(".") not in wanted or repeated != (column.kind == "array"):
        raise SchemaError(
            "schema-incompatible",
            f'field "{column.name}" has another type in the registered schema',
            detail=f"it is {'repeated ' * repeated}{type_} there, and {wanted[0]} "
            "would be written and read here.",
            hint="keep its type, or use a new name for the field.",
        )


def proto_schema(
    schema: Mapping[str, Any], name: str, latest: str | None = None
) -> str:
    """Write the ``.proto`` text of a schema whose fields are `numbered`.

    Args:
        schema: A Spark schema.
        name: The message's name.
        latest: The text that came before; numbers it used and the schema does not
            have any more are reserved.

    Raises:
        SchemaError: [schema-name-unsupported], [schema-type-unsupported] Protobuf
            has no such name or type.

    Example:
        >>> field = {"name": "n", "type": "long", "nullable": True, "metadata": {}}
        >>> whole = numbered({"type": "struct", "fields": [field]}, None)
        >>> print(proto_schema(whole, "Counted"))
        syntax = "proto3";
        <BLANKLINE>
        message Counted {
          optional int64 n = 1;
        }
        <BLANKLINE>
    """
    before = first_message(latest) if latest else None
    require_name(name, "Protobuf")
    body = "\n".join(_message(schema, name, before or ProtoMessage(), ""))
    imported = 'import "google/protobuf/timestamp.proto";\n\n'
    return (
        'syntax = "proto3";\n\n'
        + (imported if f" {_TIMESTAMP} " in body else "")
        + body
        + "\n"
    )


def _message(
    struct: Mapping[str, Any], name: str, before: ProtoMessage, indent: str
) -> Iterator[str]:
    inside = indent + "  "
    yield f"{indent}message {name} {{"
    found = list(columns(struct))
    gone = before.numbers - {column.metadata[NUMBER] for column in found}
    if gone:
        yield f"{inside}reserved {', '.join(map(str, sorted(gone)))};"
    for column in found:
        require_name(column.name, "Protobuf")
        inner = column.element if column.kind == "array" else column
        if inner.kind == "struct":
            nested = _nested(column, before)
            known = before.messages.get(nested, ProtoMessage())
            yield from _message(inner.type, nested, known, inside)
            type_ = nested
        else:
            type_ = _names(inner)[0]
        label = _label(column)
        yield f"{inside}{label}{type_} {column.name} = {column.metadata[NUMBER]};"
    yield f"{indent}}}"


def _nested(column: Column, before: ProtoMessage) -> str:
    known = before.fields.get(column.name)
    made = "".join(part.capitalize() for part in column.name.split("_"))
    return known.type if known else made


def _label(column: Column) -> str:
    if column.kind == "array":
        if column.nullable or column.element.nullable:
            raise unsupported(
                column, "Protobuf", "its lists are never null, and hold no nulls."
            )
        return "repeated "
    return "optional " if column.nullable else ""


def _names(column: Column) -> tuple[str, ...]:
    if column.digits:
        return ("string",)
    if column.kind not in _TYPES:
        raise unsupported(column, "Protobuf", "it has no type for it.")
    return _TYPES[column.kind]
