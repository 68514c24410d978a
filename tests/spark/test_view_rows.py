"""The rows that a view is written: keys of several columns, panes taken back."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

from headrace import (
    Pipeline,
    after,
    cdc,
    digits,
    event,
    hours,
    kafka,
    minutes,
    refire,
    sessions,
)
from headrace.testing import Rig, captured
from headrace.views.keys import key_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 1, 1, tzinfo=UTC)


@event(key="card", time="at")
class Visit:
    card: str
    at: datetime


@event(key="order")
class Line:
    order: str
    price: Annotated[Decimal, digits(9, 2)]
    sold_at: datetime
    amount: int


def visits() -> Pipeline:
    made = Pipeline("visits")
    read = made.read(kafka("visits", Visit))
    found = read.window(
        "visits",
        sessions(minutes(10)),
        by="card",
        early=after(events=1),
        late=refire(hours(1)),
        n="count(*)",
    )
    made.view("visits", found)
    return made


def visit(minute: int) -> Visit:
    return Visit("c1", START.replace(minute=minute))


def test_sessions_that_become_one_are_one_row(spark: SparkSession) -> None:
    with Rig(visits(), spark) as rig:
        rig.feed("visits", visit(0), visit(15))
        two = rig.table("view-visits", "n")
        rig.feed("visits", visit(8))
        one = rig.table("view-visits", "n", "view_key")

    assert list(two.values()) == [(1,), (1,)]
    key = '{"card":"c1","window_start":"2026-01-01T00:00:00.000000Z"}'
    assert one == {key: (3, key)}


def test_a_key_of_several_columns_is_asked_for_as_it_is_written(
    spark: SparkSession,
) -> None:
    made = Pipeline("shop")
    source = cdc.postgres("shop", "public.lines", Line)
    made.view("lines", made.table(source, key=("order", "price", "sold_at")))
    line = Line('o"1\n\x1fé', Decimal("7.5"), START, 3)

    with Rig(made, spark) as rig:
        rig.feed("shop.public.lines", captured("insert", line))
        ((key, row),) = rig.table("view-lines", "amount").items()

    asked = {"order": line.order, "price": "7.50", "sold_at": "2026-01-01T01:00+01:00"}
    assert key is not None
    assert key_of(made.views[0], asked) == key.encode()
    assert key_of(made.views[0], key) == key.encode()
    assert row == (3,)
