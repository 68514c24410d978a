"""Exactly-once pass-through beside Spark's own at-least-once sink, in one run.

Both read the same topic of JSON events, take the same fields apart and write them as
JSON to a topic of their own. What counts is the ratio: the machine is the same, and
the rounds alternate, so neither has the quieter half of it.

Run it: ``python bench/delivery.py --events 2000000``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ground import fill, running
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from headrace import Pipeline, event, kafka, sinks
from headrace._spark import end, session
from headrace.log import administer, create_topic
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics
from headrace.services import Stack

PARTITIONS = 4
MOST_PER_BATCH = 500_000


@event(key="card")
class Payment:
    """What both sides read and write."""

    card: str
    number: int
    cents: int
    country: str


def payments(count: int) -> Iterator[dict[str, Any]]:
    """Give what the input topic holds."""
    for number in range(count):
        card = f"card-{number % 10_000:05}"
        payment = {
            "card": card,
            "number": number,
            "cents": number % 997,
            "country": "CH",
        }
        yield {"key": card, "value": json.dumps(payment)}


def headrace_run(
    spark: SparkSession, bootstrap: str, source: str, target: str
) -> float:
    """Pass the topic through a pipeline; give the seconds it took."""
    pipeline = Pipeline(f"bench-{uuid.uuid4().hex[:8]}")
    payments = pipeline.read(kafka(source, Payment))
    pipeline.write("copy", payments, sinks.kafka(target))
    make_missing_topics(administer(bootstrap, None), pipeline)
    with tempfile.TemporaryDirectory() as home:
        began = time.monotonic()
        conditions = Conditions(
            bootstrap,
            str(Path(home) / "checkpoint"),
            until_caught_up=True,
            most_per_batch=MOST_PER_BATCH,
        )
        start(pipeline, spark, conditions).await_end()
        return time.monotonic() - began


def spark_run(spark: SparkSession, bootstrap: str, source: str, target: str) -> float:
    """Do the same with Spark's own functions and sink; give the seconds it took."""
    fields = "card string, number bigint, cents bigint, country string"
    rows = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", MOST_PER_BATCH)
        .load()
        .select(sql.from_json(sql.col("value").cast("string"), fields).alias("e"))
        .select(sql.col("e.card").alias("key"), sql.to_json("e").alias("value"))
    )
    with tempfile.TemporaryDirectory() as home:
        began = time.monotonic()
        query = (
            rows.writeStream.format("kafka")
            .option("kafka.bootstrap.servers", bootstrap)
            .option("topic", target)
            .option("checkpointLocation", str(Path(home) / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return time.monotonic() - began


def main() -> None:
    """Run both sides in turns and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with running("kafka") as (stack, _):
        measure(stack, given.events, given.rounds)


def measure(stack: Stack, events: int, rounds: int) -> None:
    """Fill a topic, pass it through both ways, and compare."""
    bootstrap = stack.address("kafka")
    admin = administer(bootstrap, stack.site().run.cluster_id)
    create_topic(admin, "input", partitions=PARTITIONS)
    fill(bootstrap, "input", payments(events))
    spark = session("bench")
    ways: dict[str, Callable[[SparkSession, str, str, str], float]] = {
        "headrace, exactly-once": headrace_run,
        "Spark's sink, at-least-once": spark_run,
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        for name, run in ways.items():
            target = f"output-{number}-{len(seconds[name])}-{run.__name__}"
            create_topic(admin, target, partitions=PARTITIONS)
            took = run(spark, bootstrap, "input", target)
            seconds[name].append(took)
            print(
                f"round {number + 1}: {name}: {events / took:,.0f} events/s", flush=True
            )
    best = {name: min(times) for name, times in seconds.items()}
    middle = {name: statistics.median(times) for name, times in seconds.items()}
    ours, theirs = ways
    print(f"ratio of the best rounds:   {best[theirs] / best[ours]:.2f}")
    print(f"ratio of the median rounds: {middle[theirs] / middle[ours]:.2f}")
    end(spark)


if __name__ == "__main__":
    main()
