"""The types an event's fields can have, apart from any format or engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FieldType:
    """What a field holds; `sql` is its type in Spark's SQL."""

    @property
    def sql(self) -> str:
        """The type as Spark's SQL writes it."""
        return _SQL[type(self)]

    @property
    def spark(self) -> Any:
        """The type as Spark's schemas write it in JSON."""
        return _SPARK.get(type(self), self.sql)

    @property
    def metadata(self) -> dict[str, Any]:
        """What Spark's type does not say, for the decoders."""
        return {}


@dataclass(frozen=True)
class Text(FieldType):
    """A text."""


@dataclass(frozen=True)
class Whole(FieldType):
    """A whole number of 64 bits."""


@dataclass(frozen=True)
class Real(FieldType):
    """A floating-point number of 64 bits."""


@dataclass(frozen=True)
class Truth(FieldType):
    """True or false."""


@dataclass(frozen=True)
class Exact(FieldType):
    """A decimal number with so many digits, `scale` of them behind the point."""

    precision: int = 38
    scale: int = 18

    @property
    def sql(self) -> str:
        """The type as Spark's SQL writes it."""
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True)
class Moment(FieldType):
    """A point in time, in microseconds."""


@dataclass(frozen=True)
class Day(FieldType):
    """A calendar date."""


@dataclass(frozen=True)
class Binary(FieldType):
    """Bytes."""


@dataclass(frozen=True)
class Uuid(FieldType):
    """A UUID, carried as text."""

    @property
    def metadata(self) -> dict[str, Any]:
        """Mark the text as a UUID."""
        return {"headrace": "uuid"}


@dataclass(frozen=True)
class Choice(FieldType):
    """One of some texts: an enum."""

    symbols: tuple[str, ...]

    @property
    def metadata(self) -> dict[str, Any]:
        """Mark the text as one of the symbols."""
        return {"headrace": "enum", "symbols": list(self.symbols)}


@dataclass(frozen=True)
class ListOf(FieldType):
    """A list of values of one type."""

    element: FieldType
    required: bool = True

    @property
    def sql(self) -> str:
        """The type as Spark's SQL writes it."""
        return f"array<{self.element.sql}>"

    @property
    def spark(self) -> Any:
        """The type as Spark's schemas write it in JSON."""
        return {
            "type": "array",
            "elementType": self.element.spark,
            "containsNull": not self.required,
        }

    @property
    def metadata(self) -> dict[str, Any]:
        """Pass on what the elements' type does not say."""
        return self.element.metadata


@dataclass(frozen=True)
class Unknown(FieldType):
    """A type that only Spark can tell, when the pipeline is planned."""

    @property
    def sql(self) -> str:
        """The type as Spark's SQL writes it."""
        return "void"


@dataclass(frozen=True)
class Field:
    """A named field; a required one is never null."""

    name: str
    type: FieldType
    required: bool = True

    @property
    def spark(self) -> dict[str, Any]:
        """The field as Spark's schemas write it in JSON."""
        return {
            "name": self.name,
            "type": self.type.spark,
            "nullable": not self.required,
            "metadata": self.type.metadata,
        }


@dataclass(frozen=True)
class Record(FieldType):
    """Fields in order: a nested event, or the columns of a stream.

    Example:
        >>> who = Record((Field("name", Text()), Field("age", Whole(), required=False)))
        >>> who.sql
        'struct<name:string,age:bigint>'
        >>> who["age"].required
        False
    """

    fields: tuple[Field, ...] = ()

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __contains__(self, name: object) -> bool:
        return any(field.name == name for field in self.fields)

    def __getitem__(self, name: str) -> Field:
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)

    @property
    def names(self) -> list[str]:
        """The names of the fields, in order."""
        return [field.name for field in self.fields]

    @property
    def sql(self) -> str:
        """The type as Spark's SQL writes it."""
        inside = ",".join(f"{field.name}:{field.type.sql}" for field in self.fields)
        return f"struct<{inside}>"

    @property
    def spark(self) -> Any:
        """The type as Spark's schemas write it in JSON."""
        return {"type": "struct", "fields": [field.spark for field in self.fields]}


_SQL: dict[type[FieldType], str] = {
    Text: "string",
    Whole: "bigint",
    Real: "double",
    Truth: "boolean",
    Moment: "timestamp",
    Day: "date",
    Binary: "binary",
    Uuid: "string",
    Choice: "string",
}

_SPARK: dict[type[FieldType], str] = {Whole: "long"}
