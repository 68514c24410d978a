"""The types of fields: from a hint to Spark's SQL, its schemas and our metadata."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Optional, Union
from uuid import UUID

import pytest

from headrace import digits, event
from headrace.event import event_type
from headrace.schema.types import (
    Binary,
    Choice,
    Day,
    Exact,
    Field,
    FieldType,
    ListOf,
    Moment,
    Real,
    Record,
    Text,
    Truth,
    Unknown,
    Uuid,
    Whole,
)


class Kind(Enum):
    CARD = "card"
    CASH = "cash"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(Enum):
    ONE = 1
    TWO = "zwei"


class Colour(StrEnum):
    RED = "red"


@event()
class Address:
    city: str
    zip_code: int | None


ADDRESS = Record((Field("city", Text()), Field("zip_code", Whole(), required=False)))

HINTS: list[tuple[Any, FieldType, str]] = [
    (str, Text(), "string"),
    (int, Whole(), "bigint"),
    (float, Real(), "double"),
    (bool, Truth(), "boolean"),
    (Decimal, Exact(38, 18), "decimal(38,18)"),
    (Annotated[Decimal, digits(12, 2)], Exact(12, 2), "decimal(12,2)"),
    (Annotated[Decimal, "in EUR"], Exact(38, 18), "decimal(38,18)"),
    (Annotated[str, "a note"], Text(), "string"),
    (datetime, Moment(), "timestamp"),
    (date, Day(), "date"),
    (UUID, Uuid(), "string"),
    (bytes, Binary(), "binary"),
    (Kind, Choice(("card", "cash")), "string"),
    (Level, Choice(("LOW", "HIGH")), "string"),
    (Mixed, Choice(("ONE", "zwei")), "string"),
    (Colour, Choice(("red",)), "string"),
    (list[int], ListOf(Whole()), "array<bigint>"),
    (list[int | None], ListOf(Whole(), required=False), "array<bigint>"),
    (list[list[str]], ListOf(ListOf(Text())), "array<array<string>>"),
    (
        list[Annotated[Decimal, digits(5, 1)]],
        ListOf(Exact(5, 1)),
        "array<decimal(5,1)>",
    ),
    (list[Kind], ListOf(Choice(("card", "cash"))), "array<string>"),
    (Address, ADDRESS, "struct<city:string,zip_code:bigint>"),
    (list[Address], ListOf(ADDRESS), "array<struct<city:string,zip_code:bigint>>"),
]


def field(hint: Any) -> Field:
    made = type("Sample", (), {"__annotations__": {"value": hint}})
    return event_type(event()(made)).record["value"]


@pytest.mark.parametrize(("hint", "expected", "sql"), HINTS, ids=str)
def test_a_hint_is_a_required_type(hint: Any, expected: FieldType, sql: str) -> None:
    assert field(hint) == Field("value", expected, required=True)
    assert expected.sql == sql


@pytest.mark.parametrize(("hint", "expected", "_"), HINTS, ids=str)
def test_a_hint_or_none_is_the_same_type_not_required(
    hint: Any, expected: FieldType, _: str
) -> None:
    optional = Field("value", expected, required=False)

    assert field(Optional[hint]) == optional  # noqa: UP045 - both spellings count
    assert field(Union[hint, None]) == optional  # noqa: UP007


def test_none_may_stand_inside_an_annotation() -> None:
    assert field(Annotated[Decimal | None, digits(12, 2)]) == Field(
        "value", Exact(12, 2), required=False
    )


@pytest.mark.parametrize(
    ("type_", "written"),
    [
        (Text(), "string"),
        (Whole(), "long"),
        (Real(), "double"),
        (Truth(), "boolean"),
        (Exact(12, 2), "decimal(12,2)"),
        (Moment(), "timestamp"),
        (Day(), "date"),
        (Binary(), "binary"),
        (Uuid(), "string"),
        (Choice(("a",)), "string"),
        (Unknown(), "void"),
        (
            ListOf(Whole(), required=False),
            {"type": "array", "elementType": "long", "containsNull": True},
        ),
    ],
    ids=str,
)
def test_a_type_is_written_as_spark_writes_it(type_: FieldType, written: Any) -> None:
    assert type_.spark == written


def test_a_record_is_a_schema_of_spark() -> None:
    record = Record((Field("to", ADDRESS), Field("ids", ListOf(Uuid(), required=True))))

    assert json.loads(json.dumps(record.spark)) == {
        "type": "struct",
        "fields": [
            {
                "name": "to",
                "type": ADDRESS.spark,
                "nullable": False,
                "metadata": {},
            },
            {
                "name": "ids",
                "type": {
                    "type": "array",
                    "elementType": "string",
                    "containsNull": False,
                },
                "nullable": False,
                "metadata": {"headrace": "uuid"},
            },
        ],
    }


def test_metadata_says_what_the_type_does_not() -> None:
    assert Uuid().metadata == {"headrace": "uuid"}
    assert Choice(("a", "b")).metadata == {"headrace": "enum", "symbols": ["a", "b"]}
    assert ListOf(ListOf(Choice(("a",)))).metadata == Choice(("a",)).metadata
    assert Text().metadata == {}


def test_a_record_is_a_row_of_named_fields() -> None:
    assert ADDRESS.names == ["city", "zip_code"]
    assert "city" in ADDRESS
    assert "street" not in ADDRESS
    with pytest.raises(KeyError):
        ADDRESS["street"]
