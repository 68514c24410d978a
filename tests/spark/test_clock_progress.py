"""What a running query tells of its watermark and state, and that it comes to rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace import (
    Pipeline,
    event,
    hours,
    kafka,
    minutes,
    seconds,
    sinks,
    tumbling,
    watermarks,
)
from headrace._spark.delivery import told_batches
from headrace.plan.clock import Clocks
from headrace.plan.outgoing import outgoing
from headrace.runtime.coding import json_encoder
from headrace.testing import Rig
from support.harness.trying import settings, told
from support.harness.waiting import wait_until

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.plan.steps import Read
    from headrace.windows.watermarks import Strategy

IDLE_REPORTS = "spark.sql.streaming.noDataProgressEventInterval"
START = datetime(2026, 3, 1, 10, tzinfo=UTC)


@event(key="card", time="made_at")
class Payment:
    payment_id: str
    card: str
    made_at: datetime


def payment(payment_id: str, minute: int, card: str = "a") -> Payment:
    return Payment(payment_id, card, START + timedelta(minutes=minute))


def test_a_batch_tells_its_watermark_and_whose_state_is_how_large(
    spark: SparkSession,
) -> None:
    shop = Pipeline("shop")
    payments = shop.read(kafka("payments", Payment), out_of_order=seconds(30))
    once = payments.dedupe("once", by="payment_id", within=hours(1))
    counted = once.window("counts", tumbling(minutes(5)), by="card", n="count(*)")
    cards = payments.dedupe("cards", by="card", within=hours(9))
    shop.write("counts", counted, sinks.kafka("counts", key="window_id"))
    shop.write("cards", cards, sinks.kafka("cards"))
    with Rig(shop, spark) as rig:
        rig.feed(
            "payments",
            *(payment(str(number), number % 4) for number in range(9)),
            payment("8", 2),
            payment("x", 7, "b"),
            payment("y", 8, "c"),
        )
        first, *_, last = told(spark, rig._query, shop)

    # Two steps with state side by side each read the topic.
    assert (first.events_in, first.watermark, first.watermark_lag) == (24, None, None)
    assert first.duplicates == {"once": 1, "cards": 9}
    assert last.events_in == 0
    assert last.watermark == "2026-03-01T10:07:30.000Z"
    assert last.watermark_lag is not None
    assert last.delays == {"payments": 30.0}
    assert first.windows["counts"]["on_time"] == 11
    assert first.windows["counts"]["in"] == 11
    assert last.windows["counts"]["panes"] == 1
    # Eleven ids, three cards, and the two windows that are still open.
    rows = {name: size["rows"] for name, size in last.state.items()}
    assert rows == {"once": 11, "cards": 3, "counts": 2}
    assert all(size["memory_bytes"] > 0 for size in last.state.values())


def test_an_idle_trigger_is_no_batch(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"k": "ann"}\n')
    stream = spark.readStream.schema("k string").json(str(tmp_path / "in"))
    with settings(spark, {IDLE_REPORTS: "0"}):
        query = stream.writeStream.format("noop").start()
    try:
        query.processAllAvailable()
        wait_until("an idle trigger is reported", lambda: len(query.recentProgress) > 1)

        assert [batch["batchId"] for batch in told_batches(spark, query, -1)] == [0]
        assert told_batches(spark, query, 0) == []
    finally:
        query.stop()


@contextmanager
def live(rig: Rig, pipeline: Pipeline) -> Iterator[StreamingQuery]:
    """Run a pipeline over what a rig was fed, by the time of day, until it is left."""
    clocks = Clocks(pipeline.outputs)

    def opened(read: Read) -> DataFrame:
        return clocks.driving(rig._open(read), read)

    query = (
        outgoing(pipeline.outputs, opened, json_encoder)
        .writeStream.format("noop")
        .option("checkpointLocation", str(rig._home / "live"))
        .start()
    )
    try:
        yield query
    finally:
        query.stop()


@pytest.mark.parametrize(
    "strategy",
    [
        watermarks.by_partition(seconds(0), idle=hours(1)),
        watermarks.lagging(seconds(0)),
    ],
    ids=lambda strategy: strategy.kind,
)
def test_a_query_comes_to_rest_when_nothing_comes(
    spark: SparkSession, strategy: Strategy
) -> None:
    shop = Pipeline("shop")
    payments = shop.read(kafka("payments", Payment), watermark=strategy)
    once = payments.dedupe("once", by="payment_id", within=hours(1))
    shop.write("once", once, sinks.kafka("once"))
    with Rig(shop, spark) as rig:
        rig.feed("payments", payment("1", 0))
        with live(rig, shop) as query:
            query.processAllAvailable()
            seen = [batch.batch for batch in told(spark, query, shop)]
            # Returns after two more looks at all sources, without a batch.
            query.processAllAvailable()
            query.processAllAvailable()

            assert [batch.batch for batch in told(spark, query, shop)] == seen
            assert told(spark, query, shop)[-1].watermark == "2026-03-01T10:00:00.000Z"


def test_a_query_at_rest_goes_on_when_its_partitions_become_idle(
    spark: SparkSession,
) -> None:
    shop = Pipeline("shop")
    strategy = watermarks.by_partition(seconds(0), idle=seconds(3))
    payments = shop.read(kafka("payments", Payment), watermark=strategy)
    once = payments.dedupe("once", by="payment_id", within=hours(1))
    shop.write("once", once, sinks.kafka("once"))
    with Rig(shop, spark) as rig:
        rig.feed("payments", payment("1", 0), partition=0)
        rig.feed("payments", payment("2", 30), partition=1)
        with live(rig, shop) as query:

            def reached(*watermarks: str) -> bool:
                assert query.exception() is None
                last = told(spark, query, shop)[-1:]
                return [batch.watermark for batch in last] == list(watermarks)

            slowest, furthest = (f"2026-03-01T10:{m}:00.000Z" for m in ("00", "30"))
            wait_until("the slower partition holds it", lambda: reached(slowest))
            # Looks at all sources and finds nothing, again and again.
            wait_until("the faster one moves it", lambda: reached(furthest))
