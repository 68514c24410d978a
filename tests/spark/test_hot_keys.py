"""Keys whose events are spread over parts, in whole pipelines.

That panes and late events are those of the model is for `test_windows` to show.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from headrace import Pipeline, event, hopping, kafka, minutes, sinks, tumbling
from headrace.testing import Rig
from support.harness.trying import LAYOUT, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 1, 1, 10, tzinfo=UTC)


@event(key="card", time="made_at")
class Payment:
    card: str
    amount: float
    made_at: datetime


def payments(number: int) -> list[Payment]:
    """Give payments of ten minutes, whose sum depends on the order of adding."""
    chance = random.Random(3)  # noqa: S311 - no secret
    return [
        Payment("a", chance.uniform(-1, 1) * 10 ** chance.randint(-9, 9), at)
        for at in (START + timedelta(seconds=600 * i / number) for i in range(number))
    ]


def told(spark: SparkSession, **window: Any) -> list[Any]:
    """Give the panes of ten minutes of payments."""
    sums = Pipeline("sums")
    read = sums.read(kafka("payments", Payment))
    kind = window.pop("kind", tumbling(minutes(5)))
    panes = read.window("w", kind, **window, n="count(*)", total="sum(amount)")
    sums.write("sums", panes, sinks.kafka("sums"))
    with Rig(sums, spark) as rig:
        rig.feed("payments", *payments(400))
        rig.advance(START + timedelta(hours=1))
        return rig.rows("sums")


@pytest.mark.parametrize("partitions", [1, 3, 5])
def test_parts_are_added_in_one_order_however_they_are_laid_out(
    spark: SparkSession, partitions: int
) -> None:
    expected = told(spark, by="card", hot_keys="spread")

    with settings(spark, {LAYOUT: str(partitions)}):
        found = told(spark, by="card", hot_keys="spread")

    # To the last digit: a batch that is repeated has to give the same bytes.
    assert found == expected


def test_events_without_a_key_can_be_spread(spark: SparkSession) -> None:
    kind = hopping(minutes(4), every=minutes(2))
    expected = told(spark, kind=kind)

    found = told(spark, kind=kind, hot_keys="spread")

    assert len(found) == 6
    # The sums differ in their last digits: the events were added in another order.
    assert [(r[0], r[1], r[2], pytest.approx(r[3]), *r[4:]) for r in expected] == found
