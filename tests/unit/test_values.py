"""Events as JSON: every type is written as the pipelines read it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from math import inf, nan
from typing import Any
from uuid import UUID

import pytest

from headrace import event
from headrace.schema.values import plain, to_json


class Kind(Enum):
    CARD = "card"


class Level(IntEnum):
    LOW = 1


class Colour(StrEnum):
    RED = "red"


@event()
class Address:
    city: str
    zip_code: int | None = None


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("Zürich 😀 \x00", "Zürich 😀 \x00"),
        (1, 1),
        (2**63 - 1, 9223372036854775807),
        (True, True),
        (None, None),
        (0.1, 0.1),
        (-0.0, -0.0),
        (nan, "NaN"),
        (inf, "Infinity"),
        (-inf, "-Infinity"),
        (Decimal("9.90"), "9.90"),
        (Decimal("0.1") + Decimal("0.2"), "0.3"),
        (Decimal("-0"), "-0"),
        (Decimal("1E+3"), "1E+3"),
        (
            datetime(2026, 3, 29, 10, 15, 30, 123456, UTC),
            "2026-03-29T10:15:30.123456+00:00",
        ),
        (datetime(2026, 3, 29, 10, 15), "2026-03-29T10:15:00+00:00"),
        (
            datetime(
                2026, 3, 29, 10, 15, tzinfo=timezone(timedelta(hours=-3, minutes=-30))
            ),
            "2026-03-29T10:15:00-03:30",
        ),
        (date(2026, 3, 29), "2026-03-29"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (b"\x00\xff", "AP8="),
        (Kind.CARD, "card"),
        (Level.LOW, "LOW"),
        (Colour.RED, "red"),
        ([], []),
        ([Decimal(1), None, Kind.CARD], ["1", None, "card"]),
        ([[b"a"], []], [["YQ=="], []]),
        (Address("Bern"), {"city": "Bern", "zip_code": None}),
        ([Address("Bern", 3000)], [{"city": "Bern", "zip_code": 3000}]),
    ],
    ids=repr,
)
def test_a_value_is_written_as_pipelines_read_it(value: Any, written: Any) -> None:
    assert plain(value) == written
    assert type(plain(value)) is type(written)


def test_an_event_is_one_line_of_json_with_all_its_fields() -> None:
    @event()
    class Order:
        to: Address
        note: str | None = None

    text = to_json(Order(Address("Zürich")))

    assert text == '{"to": {"city": "Zürich", "zip_code": null}, "note": null}'.encode()


def test_no_value_makes_json_that_is_none() -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    @event()
    class Reading:
        values: list[float]

    json.loads(to_json(Reading([nan, inf, -inf, 1e308])), parse_constant=refuse)
