"""Tumbling windows that begin at a moment of each key's own."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from headrace import Pipeline, event, kafka, minutes, refire, sinks, tumbling
from headrace.testing import Rig

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
SIZE = minutes(5)
CARDS = [f"card-{number}" for number in range(12)]

pytestmark = pytest.mark.usefixtures("one_partition")


@event(key="card", time="made_at")
class Payment:
    card: str
    made_at: datetime


def test_each_key_has_windows_of_its_own_and_every_event_is_in_one(
    spark: SparkSession,
) -> None:
    shop = Pipeline("shop")
    payments = shop.read(kafka("payments", Payment), out_of_order=minutes(1))
    own = tumbling(SIZE, staggered=True)
    late = refire(minutes(30))
    counted = payments.window("counted", own, by="card", late=late, n="count(*)")
    shop.write("counted", counted, sinks.kafka("counted", key="window_id"))
    chance = random.Random(3)  # noqa: S311 - an order, no secret
    paid = [
        Payment(
            chance.choice(CARDS), START + timedelta(seconds=chance.uniform(0, 1500))
        )
        for _ in range(200)
    ]
    with Rig(shop, spark) as rig:
        for place in range(0, 200, 50):
            rig.feed("payments", *paid[place : place + 50])
        rig.crash()
        rig.advance(START + timedelta(hours=1))
        rows = rig.rows("counted", "card", "window_start", "window_end", "n")
    found = {row[:3]: row[3] for row in rows}

    moments = moments_of(spark)
    wanted = Counter[tuple[str, str, str]]()
    for made in paid:
        since = (made.made_at - moments[made.card]) % SIZE
        begin = made.made_at - since
        wanted[made.card, told(begin), told(begin + SIZE)] += 1
    assert found == wanted
    # Otherwise nothing would be gained.
    assert len({moments[card] for card in CARDS}) == len(CARDS)


def test_without_a_key_windows_begin_as_all_tumbling_ones_do(
    spark: SparkSession,
) -> None:
    shop = Pipeline("shop")
    payments = shop.read(kafka("payments", Payment))
    own = tumbling(SIZE, staggered=True)
    shop.write(
        "counted", payments.window("counted", own, n="count(*)"), sinks.kafka("counted")
    )
    with Rig(shop, spark) as rig:
        rig.feed("payments", Payment("a", START + minutes(7)))
        rig.advance(minutes(5))

        assert rig.rows("counted", "window_start", "n") == [(told(START + SIZE), 1)]


def moments_of(spark: SparkSession) -> dict[str, datetime]:
    """Ask Spark for the moment of each card."""
    size = SIZE // timedelta(microseconds=1)
    cards = spark.createDataFrame([(card,) for card in CARDS], "card string")
    rows = cards.selectExpr("card", f"pmod(xxhash64(card), {size}) moment").collect()
    first = datetime(1970, 1, 1, tzinfo=UTC)
    return {row.card: first + timedelta(microseconds=row.moment) for row in rows}


def told(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
