"""Spark's schemas in JSON, as the writers of other schemas walk through them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import SchemaError

_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
# What Avro and Protobuf both allow; Python and SQL allow more.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Column:
    """One field of a Spark schema.

    Attributes:
        name: Its name.
        kind: Spark's word for its type; ``struct`` and ``array`` hold others.
        nullable: Whether it can be null.
        metadata: What Spark's type leaves open.
        type: The type as it stands in the JSON.
    """

    name: str
    kind: str
    nullable: bool
    metadata: Mapping[str, Any]
    type: Any

    @property
    def element(self) -> Column:
        """The elements of a list, as a column of their own."""
        return _column(
            self.name,
            self.type["elementType"],
            self.type["containsNull"],
            self.metadata,
        )

    @property
    def digits(self) -> tuple[int, int] | None:
        """Precision and scale of a decimal."""
        found = _DECIMAL.fullmatch(self.kind)
        return (int(found[1]), int(found[2])) if found else None

    @property
    def symbols(self) -> list[str] | None:
        """The symbols of an enum."""
        is_enum = self.metadata.get("headrace") == "enum"
        return list(self.metadata["symbols"]) if is_enum else None

    @property
    def is_uuid(self) -> bool:
        """Whether the text is a UUID."""
        return self.metadata.get("headrace") == "uuid"


def columns(struct: Mapping[str, Any]) -> Iterator[Column]:
    """Give the fields of a Spark schema in their order.

    Example:
        >>> field = {"name": "n", "type": "long", "nullable": False, "metadata": {}}
        >>> [c.kind for c in columns({"type": "struct", "fields": [field]})]
        ['long']
    """
    for field in struct["fields"]:
        metadata = field.get("metadata") or {}
        yield _column(field["name"], field["type"], field["nullable"], metadata)


def _column(
    name: str, type_: Any, nullable: bool, metadata: Mapping[str, Any]
) -> Column:
    kind = type_ if isinstance(type_, str) else type_["type"]
    return Column(name, kind, nullable, metadata, type_)


def require_name(name: str, language: str) -> str:
    """Refuse a name that a schema language has no place for.

    Raises:
        SchemaError: [schema-name-unsupported] it holds other characters.
    """
    if not _NAME.fullmatch(name):
        raise SchemaError(
            "schema-name-unsupported",
            f'{language} cannot have a field named "{name}"',
            detail="names begin with a letter or _ and hold letters, digits and _; "
            "letters are those from A to Z.",
            hint=f'rename it before the sink: .rename({{"{name}": "..."}}).',
        )
    return name


def unsupported(column: Column, language: str, detail: str) -> SchemaError:
    """Say that a schema language has no such type."""
    return SchemaError(
        "schema-type-unsupported",
        f'{language} cannot carry field "{column.name}" of type {column.kind}',
        detail=detail,
        hint="convert the field with a select step, leave it out, or use another "
        "format.",
    )
