"""Windows beside hand-written Spark and Spark's Python operator, in one run.

All read the same topic of JSON events and count and sum them by card and minute into
a topic of their own: Spark's own functions and sink; a pipeline on the native path,
with Spark's watermark and with one of ours; one whose late events are kept, which
takes our operator; and Spark's ``transformWithState`` in Python. What counts is the
ratio; the rounds alternate.

Run it: ``python bench/windows.py --events 1000000``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ground import fill, in_turns, running
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
)

from headrace import Pipeline, event, kafka, minutes, seconds, sinks, tumbling
from headrace import watermarks as marks
from headrace._spark import end, session
from headrace.log import administer, create_topic
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics
from headrace.services import Stack

PARTITIONS = 4
MOST_PER_BATCH = 250_000
BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)
SPAN = timedelta(minutes=10)
FIELDS = "card string, number bigint, cents bigint, made_at timestamp"


@event(key="card", time="made_at")
class Payment:
    """What all sides read."""

    card: str
    number: int
    cents: int
    made_at: datetime


def payments(count: int, keys: int) -> Iterator[dict[str, Any]]:
    """Give ten minutes of payments."""
    for number in range(count):
        card = f"card-{number % keys:07}"
        made_at = BEGAN_AT + SPAN * number / count
        payment = {"card": card, "number": number, "cents": number % 997}
        value = json.dumps(payment | {"made_at": made_at.isoformat()})
        yield {"key": card, "value": value}


class Bench:
    """One topic, and the ways to count it."""

    def __init__(self, spark: SparkSession, bootstrap: str, source: str) -> None:
        self.spark = spark
        self.bootstrap = bootstrap
        self.source = source

    def native(self) -> float:
        """Take the path that is Spark's own, with Spark's own watermark."""
        return self._pipeline("drop", marks.lagging(seconds(10)))

    def native_by_partition(self) -> float:
        """Take the path that is Spark's own, behind a clock of ours."""
        return self._pipeline("drop", marks.by_partition(seconds(10)))

    def operator(self) -> float:
        """Keep late events, which takes our operator."""
        return self._pipeline("side-output", marks.by_partition(seconds(10)))

    def _pipeline(self, late: str, watermark: Any) -> float:
        name = f"bench-{uuid.uuid4().hex[:8]}"
        made = Pipeline(name)
        payments = made.read(kafka(self.source, Payment), watermark=watermark)
        counts = payments.window(
            "counts",
            tumbling(minutes(1)),
            by="card",
            late=late,
            payments="count(*)",
            spent="sum(cents)",
        )
        made.write("counts", counts, sinks.kafka(f"{name}-out"))
        if late == "side-output":
            made.write("late", counts.late, sinks.kafka(f"{name}-late"))
        make_missing_topics(administer(self.bootstrap, None), made)
        with tempfile.TemporaryDirectory() as home:
            began = time.monotonic()
            conditions = Conditions(
                self.bootstrap,
                str(Path(home) / "checkpoint"),
                until_caught_up=True,
                most_per_batch=MOST_PER_BATCH,
            )
            start(made, self.spark, conditions).await_end()
            return time.monotonic() - began

    def by_hand(self) -> float:
        """Write it in Spark's own functions."""
        counted = (
            self._payments()
            .groupBy("card", sql.window("made_at", "1 minute"))
            .agg(sql.count("*").alias("payments"), sql.sum("cents").alias("spent"))
        )
        return self._write(counted)

    def python_operator(self) -> float:
        """Let Spark's Python operator do it, with late events set apart."""
        counted = (
            self._payments()
            # An operator is only given late events if Spark does not see their time.
            .withColumn("at_ms", sql.unix_millis("made_at"))
            .select("card", "cents", "at_ms")
            .groupBy("card")
            .transformWithState(
                statefulProcessor=MinuteCounts(),
                outputStructType="card string, minute bigint, payments bigint, "
                "spent bigint, late boolean",
                outputMode="Append",
                timeMode="EventTime",
            )
        )
        return self._write(counted)

    def _payments(self) -> DataFrame:
        return (
            self.spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("subscribe", self.source)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", MOST_PER_BATCH)
            .load()
            .select(sql.from_json(sql.col("value").cast("string"), FIELDS).alias("e"))
            .select("e.*")
            .withWatermark("made_at", "10 seconds")
        )

    def _write(self, counted: DataFrame) -> float:
        target = f"bench-{uuid.uuid4().hex[:8]}-out"
        admin = administer(self.bootstrap, None)
        create_topic(admin, target, partitions=PARTITIONS)
        with tempfile.TemporaryDirectory() as home:
            began = time.monotonic()
            query = (
                counted.select(
                    sql.col("card").alias("key"),
                    sql.to_json(sql.struct("*")).alias("value"),
                )
                .writeStream.format("kafka")
                .option("kafka.bootstrap.servers", self.bootstrap)
                .option("topic", target)
                .option("checkpointLocation", str(Path(home) / "checkpoint"))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            return time.monotonic() - began


class MinuteCounts(StatefulProcessor):
    """Counts by minute, as one writes it with Spark's Python operator."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Keep a count and a sum for each minute."""
        self._handle = handle
        self._minutes = handle.getMapState(
            "minutes", "minute bigint", "payments bigint, spent bigint"
        )

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """Add events to their minutes; give those whose minute is over."""
        watermark = timerValues.getCurrentWatermarkInMs()
        sums: dict[int, tuple[int, int]] = {}
        for row in rows:
            minute = row.at_ms // 60_000
            if (minute + 1) * 60_000 <= watermark:
                yield Row(
                    card=key[0], minute=minute, payments=1, spent=row.cents, late=True
                )
                continue
            payments, spent = sums.get(minute, (0, 0))
            sums[minute] = (payments + 1, spent + row.cents)
        for minute, (payments, spent) in sums.items():
            before = self._minutes.getValue((minute,))
            if before is None:
                before = (0, 0)
                self._handle.registerTimer((minute + 1) * 60_000)
            after = (before[0] + payments, before[1] + spent)
            self._minutes.updateValue((minute,), after)

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """Give a minute that is over."""
        minute = expiredTimerInfo.getExpiryTimeInMs() // 60_000 - 1
        payments, spent = self._minutes.getValue((minute,)) or (0, 0)
        self._minutes.removeKey((minute,))
        yield Row(
            card=key[0], minute=minute, payments=payments, spent=spent, late=False
        )

    def close(self) -> None:
        """Leave nothing behind."""


def main() -> None:
    """Run all ways in turns and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with running("kafka") as (stack, _):
        measure(stack, given.events, given.keys, given.rounds)


def measure(stack: Stack, events: int, keys: int, rounds: int) -> None:
    """Fill a topic, count it in all ways, and compare."""
    bootstrap = stack.address("kafka")
    admin = administer(bootstrap, stack.site().run.cluster_id)
    create_topic(admin, "input", partitions=PARTITIONS)
    fill(bootstrap, "input", payments(events, keys))
    spark = session("bench", config={"spark.driver.memory": "3g"})
    bench = Bench(spark, bootstrap, "input")
    ways: dict[str, Callable[[], float]] = {
        "Spark by hand": bench.by_hand,
        "headrace, native path": bench.native,
        "headrace, native path, by partition": bench.native_by_partition,
        "headrace, operator, late events kept": bench.operator,
    }
    if find_spec("pandas") and find_spec("pyarrow"):
        ways["Spark's Python operator"] = bench.python_operator
    else:
        print("without Spark's Python operator, which asks for pandas and pyarrow")
    best = in_turns(ways, events, rounds)
    for name, took in best.items():
        print(f"{name}: {best['Spark by hand'] / took:.2f} of Spark by hand")
    end(spark)


if __name__ == "__main__":
    main()
