"""A table of MariaDB in a pipeline, from changes as its connector tells them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from headrace import Pipeline, cdc, digits, event, sinks
from headrace.testing import Rig

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPIC = "erp.shop.orders"
SECOND = 1_794_776_089


@event(key="id")
class Order:
    id: int
    item: str | None
    price: Annotated[Decimal, digits(9, 2)] | None
    big: Annotated[Decimal, digits(20, 0)]
    at: datetime


def told(op: str, id_: int, item: str | None, pos: int, **source: Any) -> bytes:
    """Write a change: its time has seconds, and its transaction one place."""
    row = {
        "id": id_,
        "item": item,
        "price": "3.10",
        "big": 18446744073709551615,
        "at": "2026-03-01T10:30:00.5Z",
    }
    here = {
        "connector": "mariadb",
        "ts_ms": SECOND * 1000,
        "ts_us": SECOND * 1_000_000,
        "snapshot": None,
        "gtid": f"0-1-{pos}",
        "file": "bin.000001",
        "pos": pos,
        "row": 0,
    } | source
    rows = {"before": row, "after": None} if op == "d" else {"after": row}
    return json.dumps({**rows, "source": here, "op": op, "ts_ms": 1}).encode()


@pytest.fixture
def rig(spark: SparkSession) -> Iterator[Rig]:
    pipeline = Pipeline("erp")
    orders = pipeline.table(cdc.mariadb("erp", "shop.orders", Order))
    pipeline.write("orders", orders, sinks.kafka("orders"))
    with Rig(pipeline, spark) as rig:
        yield rig


def test_every_change_of_one_transaction_counts(rig: Rig) -> None:
    rig.feed(TOPIC, told("r", 1, "tea", 400, snapshot="last"))
    rig.feed(TOPIC, told("u", 1, "one", 500), told("u", 1, "two", 500))
    assert rig.table("orders", "item") == {"1": ("two",)}
    rig.feed(TOPIC, told("u", 1, "three", 500), told("c", 2, None, 500))

    assert rig.table("orders", "item") == {"1": ("three",), "2": (None,)}
    ((price, big),) = set(rig.rows("orders", "price", "big"))
    assert (Decimal(str(price)), Decimal(str(big))) == (
        Decimal("3.10"),
        Decimal(18446744073709551615),
    )


def test_another_key_takes_the_row_along(rig: Rig) -> None:
    rig.feed(TOPIC, told("c", 3, "tea", 500))
    rig.feed(TOPIC, told("d", 3, "tea", 600), None, told("c", 4, "tea", 600))

    assert rig.table("orders", "item") == {"4": ("tea",)}


def test_a_transaction_that_is_told_again_is_passed_over(rig: Rig) -> None:
    rig.feed(TOPIC, told("c", 1, "old", 500), told("u", 1, "new", 600))
    rig.feed(TOPIC, told("c", 1, "old", 500))

    assert rig.table("orders", "item") == {"1": ("new",)}


def test_a_log_that_was_begun_anew_is_followed(rig: Rig) -> None:
    rig.feed(TOPIC, told("c", 1, "before", 9000))
    later = (SECOND + 1) * 1_000_000
    rig.feed(TOPIC, told("u", 1, "after", 400, ts_us=later))

    assert rig.table("orders", "item") == {"1": ("after",)}
