"""Replay a topic whose partitions are at very different times, and count late events.

Each of four partitions is in order and they cover the same day, but along the log
they move through it at different speeds, so that every batch reads some partitions
hours ahead of others. Nothing of it is late, and a watermark by partition finds so;
the largest event time over all partitions, which is Spark's, makes most of it late.

Run it: ``python bench/replay.py --events 1000000``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

from ground import fill, running
from pyspark.sql import SparkSession

from headrace import Pipeline, event, kafka, minutes, seconds, sinks, tumbling
from headrace import watermarks as marks
from headrace._spark import end, session
from headrace.log import administer, create_topic
from headrace.runtime.progress import BatchProgress
from headrace.runtime.run import Conditions, follow, start
from headrace.runtime.topics import make_missing_topics

BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
# How far through the day a partition is, at a share of its log.
SPEEDS: tuple[Callable[[float], float], ...] = (
    lambda share: share,
    lambda share: share**3,
    lambda share: share**0.3,
    lambda share: max(0.0, 4 * share - 3),
)


@event(key="card", time="made_at")
class Payment:
    """What is replayed."""

    card: str
    number: int
    made_at: datetime


def payments(count: int) -> Iterator[dict[str, Any]]:
    """Give those of each partition in order, at its own speed."""
    each = count // len(SPEEDS)
    for number in range(each):
        for partition, speed in enumerate(SPEEDS):
            made_at = BEGAN_AT + DAY * speed(number / each)
            card = f"card-{number % 1000}"
            payment = {"card": card, "number": number, "made_at": made_at.isoformat()}
            value = json.dumps(payment)
            yield {"value": value, "key": card, "partition": partition}


def replay(
    spark: SparkSession, bootstrap: str, name: str, watermark: Any
) -> dict[str, int]:
    """Count the topic by minute; give what became of its events."""
    pipeline = Pipeline(name)
    payments = pipeline.read(kafka("input", Payment), watermark=watermark)
    counts = payments.window(
        "counts", tumbling(minutes(1)), by="card", payments="count(*)"
    )
    pipeline.write("counts", counts, sinks.kafka(f"{name}-counts"))
    make_missing_topics(administer(bootstrap, None), pipeline)
    totals = {"in": 0, "on_time": 0, "late": 0}

    def tell(progress: BatchProgress) -> None:
        for total in totals:
            totals[total] += progress.windows["counts"][total]

    with tempfile.TemporaryDirectory() as home:
        conditions = Conditions(
            bootstrap,
            str(Path(home) / "checkpoint"),
            until_caught_up=True,
            most_per_batch=50_000,
        )
        follow(start(pipeline, spark, conditions), tell, Event())
    return totals


def main() -> None:
    """Replay with both watermarks and print what was late."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    given = parser.parse_args()
    with running("kafka") as (stack, _):
        bootstrap = stack.address("kafka")
        admin = administer(bootstrap, stack.site().run.cluster_id)
        create_topic(admin, "input", partitions=len(SPEEDS))
        fill(bootstrap, "input", payments(given.events))
        spark = session("replay", config={"spark.driver.memory": "3g"})
        lag = seconds(1)
        for name, watermark in {
            "by-partition": marks.by_partition(lag),
            "over-all": marks.lagging(lag),
        }.items():
            told = replay(spark, bootstrap, name, watermark)
            share = told["late"] / told["in"]
            print(f"{name}: {told}, {share:.1%} late", flush=True)
        end(spark)


if __name__ == "__main__":
    main()
