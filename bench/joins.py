"""Joins beside hand-written Spark, in one run.

Two topics of impressions and clicks are joined within ten minutes into a third topic:
by Spark's own stream-stream join and Kafka sink, by a pipeline on the native path, and
by one whose late rows are kept, which takes our operator; the rounds alternate, and
what counts is the ratio. Then a table is filled with rows, and answers
a topic of impressions: nothing stands beside that, as Spark has no such join. The
query is started anew for it, and that counts too.

Run it: ``python bench/joins.py --events 500000 --rows 1000000 --asked 2000000``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ground import fill, in_turns, running
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from headrace import Pipeline, between, event, kafka, minutes, seconds, settled, sinks
from headrace._spark import end, session
from headrace.log import administer, create_topic
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics
from headrace.services import Stack

PARTITIONS = 4
MOST_PER_BATCH = 250_000
# Brokers forget records whose own time is long ago.
BEGAN_AT = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=6)
SPAN = timedelta(hours=1)
SHOWN = "ad string, number bigint, shown_at timestamp"
CLICKED = "ad string, number bigint, clicked_at timestamp"


@event(key="ad", time="shown_at")
class Impression:
    """The left side."""

    ad: str
    number: int
    shown_at: datetime


@event(key="ad", time="clicked_at")
class Click:
    """The right side."""

    ad: str
    number: int
    clicked_at: datetime


@event(key="ad")
class Ad:
    """A row of the table."""

    ad: str
    price: int


def events(count: int, ads: int, time_: str) -> Iterator[dict[str, Any]]:
    """Give an hour of events; those of the same number are of the same ad."""
    for number in range(count):
        ad = f"ad-{number * 7919 % ads:07}"
        at = BEGAN_AT + SPAN * number / count
        row = {"ad": ad, "number": number, time_: at.isoformat()}
        at_ms = int(at.timestamp() * 1000)
        yield {"key": ad, "value": json.dumps(row), "timestamp": at_ms}


def rows(count: int, time_: datetime) -> Iterator[dict[str, Any]]:
    """Give the rows of a table, all of one time."""
    at = int(time_.timestamp() * 1000)
    for number in range(count):
        ad = f"ad-{number:07}"
        row = {"ad": ad, "price": number}
        yield {"key": ad, "value": json.dumps(row), "timestamp": at}


class Bench:
    """The topics, and the ways to join them."""

    def __init__(self, spark: SparkSession, bootstrap: str) -> None:
        self.spark = spark
        self.bootstrap = bootstrap

    def by_hand(self) -> float:
        """Write it in Spark's own functions."""
        left = self._read("shown", SHOWN, "shown_at").alias("l")
        right = self._read("clicked", CLICKED, "clicked_at").alias("r")
        joined = left.join(
            right,
            sql.expr(
                "l.ad = r.ad and clicked_at >= shown_at "
                "and clicked_at <= shown_at + interval 10 minutes"
            ),
        ).selectExpr("l.ad", "l.number", "shown_at", "r.number as click", "clicked_at")
        target = f"bench-{uuid.uuid4().hex[:8]}-out"
        create_topic(administer(self.bootstrap, None), target, partitions=PARTITIONS)
        with tempfile.TemporaryDirectory() as home:
            began = time.monotonic()
            query = (
                joined.select(
                    sql.col("ad").alias("key"),
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

    def native(self) -> float:
        """Take the path that is Spark's own."""
        return self._joined("drop")

    def operator(self) -> float:
        """Keep late rows, which takes our operator."""
        return self._joined("side-output")

    def _joined(self, late: str) -> float:
        made = Pipeline(f"bench-{uuid.uuid4().hex[:8]}")
        lag = seconds(10)
        left = made.read(kafka("shown", Impression), out_of_order=lag)
        right = made.read(kafka("clicked", Click), out_of_order=lag)
        within = between(seconds(0), minutes(10))
        pairs = left.join(
            "pairs", right.rename(number="click"), on="ad", within=within, late=late
        )
        made.write("pairs", pairs, sinks.kafka(f"{made.name}-out"))
        return self._run(made)

    def answered(self, count: int, size: int) -> None:
        """Fill a table, then let it answer events, each once its time is settled."""
        made = Pipeline(f"bench-{uuid.uuid4().hex[:8]}")
        asked = made.read(kafka("asked", Impression), out_of_order=seconds(10))
        table = made.table(kafka("ads", Ad))
        answers = asked.join("price", table, on="ad", lookup=settled())
        made.write("answers", answers, sinks.kafka(f"{made.name}-out"))
        make_missing_topics(administer(self.bootstrap, None), made)
        with tempfile.TemporaryDirectory() as home:
            took = self._caught_up(made, home)
            print(f"a table is filled: {size / took:,.0f} rows/s", flush=True)
            fill(self.bootstrap, "asked", events(count, size, "shown_at"))
            # Rows of a later time in each partition: the table holds no answer up.
            fill(self.bootstrap, "ads", rows(1000, BEGAN_AT + 2 * SPAN))
            took = self._caught_up(made, home)
            print(f"it answers {count / took:,.0f} events/s", flush=True)

    def _read(self, topic: str, fields: str, time_: str) -> DataFrame:
        return (
            self.spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", MOST_PER_BATCH)
            .load()
            .select(sql.from_json(sql.col("value").cast("string"), fields).alias("e"))
            .select("e.*")
            .withWatermark(time_, "10 seconds")
        )

    def _run(self, made: Pipeline) -> float:
        make_missing_topics(administer(self.bootstrap, None), made)
        with tempfile.TemporaryDirectory() as home:
            return self._caught_up(made, home)

    def _caught_up(self, made: Pipeline, home: str) -> float:
        conditions = Conditions(
            self.bootstrap,
            str(Path(home) / "checkpoint"),
            until_caught_up=True,
            most_per_batch=MOST_PER_BATCH,
        )
        began = time.monotonic()
        start(made, self.spark, conditions).await_end()
        return time.monotonic() - began


def main() -> None:
    """Run all ways in turns and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--asked", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with running("kafka") as (stack, _):
        measure(stack, given)


def measure(stack: Stack, given: argparse.Namespace) -> None:
    """Fill the topics, join them in all ways, and compare."""
    count, size = given.events, given.rows
    bootstrap = stack.address("kafka")
    admin = administer(bootstrap, stack.site().run.cluster_id)
    for topic in ("shown", "clicked", "asked", "ads"):
        create_topic(admin, topic, partitions=PARTITIONS)
    fill(bootstrap, "shown", events(count, count // 5, "shown_at"))
    fill(bootstrap, "clicked", events(count, count // 5, "clicked_at"))
    fill(bootstrap, "ads", rows(size, BEGAN_AT - SPAN))
    spark = session("bench", config={"spark.driver.memory": "3g"})
    bench = Bench(spark, bootstrap)
    ways: dict[str, Callable[[], float]] = {
        "Spark by hand": bench.by_hand,
        "headrace, native": bench.native,
        "headrace, operator": bench.operator,
    }
    best = in_turns(ways, 2 * count, given.rounds)
    for name in list(ways)[1:]:
        ratio = best["Spark by hand"] / best[name]
        print(f"{name}: {ratio:.2f} of Spark by hand", flush=True)
    bench.answered(given.asked, size)
    end(spark)


if __name__ == "__main__":
    main()
