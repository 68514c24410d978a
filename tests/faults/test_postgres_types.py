"""Every type of an event is in a table as it was in the event, through the rig."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from itertools import count
from typing import Annotated
from uuid import UUID

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from pyspark.sql import SparkSession

from headrace import Pipeline, digits, event, kafka, sinks
from headrace.services.addresses import Addresses
from headrace.testing import Rig

_NUMBERS = count(1)


class Kind(Enum):
    LOW = "low"
    HIGH = "high"


@event()
class Part:
    name: str
    share: float | None


@event(key="id")
class Everything:
    id: UUID
    text: str | None
    whole: int | None
    real: float | None
    truth: bool | None
    exact: Annotated[Decimal, digits(38, 18)] | None
    cents: Annotated[Decimal, digits(12, 2)] | None
    at: datetime | None
    day: date | None
    content: bytes | None
    kind: Kind | None
    numbers: list[int] | None
    part: Part | None


FULL = Everything(
    id=UUID("f0000000-0000-4000-8000-000000000001"),
    text="Grüße \\ \"🦆\" \t'x'",
    whole=-(2**63),
    real=-0.0,
    truth=False,
    exact=Decimal("12345678901234567890.123456789012345678"),
    cents=Decimal("-1234567890.10"),
    at=datetime(2026, 3, 29, 1, 59, 59, 999999, UTC),
    day=date(2024, 2, 29),
    content=b"\x00\xff\\x41 base64?",
    kind=Kind.HIGH,
    numbers=[1, -2, 3],
    part=Part("p", 0.1),
)
EMPTY = Everything(UUID(int=2), *([None] * 12))
ODD = Everything(
    id=UUID(int=3),
    text="",
    whole=2**63 - 1,
    real=math.nan,
    truth=True,
    exact=Decimal("-0.000000000000000001"),
    cents=Decimal("0.00"),
    at=datetime(1, 1, 1, tzinfo=UTC),
    day=date(9999, 12, 31),
    content=b"",
    kind=Kind.LOW,
    numbers=[],
    part=Part("", None),
)


@pytest.fixture
def reader(postgres: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("set timezone to 'UTC'")
        yield connection


def test_every_type_survives(
    spark: SparkSession, reader: psycopg.Connection, addresses: Addresses
) -> None:
    name = f"everything_{next(_NUMBERS)}"
    pipeline = Pipeline(name.replace("_", "-"))
    events = pipeline.read(kafka("in", Everything))
    pipeline.write("all", events, sinks.postgres(name))

    with Rig(pipeline, spark, servers=addresses) as rig:
        rig.feed("in", FULL, EMPTY)
        rig.feed("in", ODD)
        rig.crash()

    asked = SQL("select * from {} order by id").format(Identifier(name))
    empty, odd, full = reader.execute(asked).fetchall()
    assert full[:3] == (FULL.id, FULL.text, FULL.whole)
    assert math.copysign(1, full[3]) == -1
    assert full[4:11] == (
        *(False, FULL.exact, FULL.cents, FULL.at, FULL.day, FULL.content, "high"),
    )
    assert full[11:] == ([1, -2, 3], {"name": "p", "share": 0.1})
    assert empty == (EMPTY.id, *([None] * 12))
    assert (odd[1], odd[2], odd[5], odd[9], odd[11]) == (
        *("", ODD.whole, ODD.exact, b"", []),
    )
    assert math.isnan(odd[3])
    assert (odd[7], odd[8]) == (ODD.at, ODD.day)
    assert odd[12] == {"name": ""}


@pytest.mark.parametrize(
    ("type_", "fits"),
    [
        ("numeric", True),
        ("numeric(40, 20)", True),
        ("numeric(38, 17)", False),
        ("double precision", False),
        ("text", True),
    ],
)
def test_a_decimal_is_never_rounded(
    spark: SparkSession,
    reader: psycopg.Connection,
    addresses: Addresses,
    type_: str,
    fits: bool,
) -> None:
    name = f"exact_{next(_NUMBERS)}"
    reader.execute(
        SQL(f"create table {{}} (id uuid primary key, exact {type_})").format(
            Identifier(name)
        )
    )
    pipeline = Pipeline(name.replace("_", "-"))
    events = pipeline.read(kafka("in", Everything)).select("id", "exact")
    pipeline.write("all", events, sinks.postgres(name, key="id"))

    with Rig(pipeline, spark, servers=addresses) as rig:
        if fits:
            rig.feed("in", FULL)
            asked = SQL("select exact::text from {}").format(Identifier(name))
            (found,) = reader.execute(asked).fetchone() or ("",)
            assert Decimal(found) == FULL.exact
        else:
            with pytest.raises(Exception, match="sink-mismatch"):
                rig.feed("in", FULL)
