"""Ways to tell events with the rows of one table, in one run.

A topic of impressions is told with prices: looked up by key in a table that Spark keeps
(``latest``), in one that every task holds (``broadcast``), and in PostgreSQL, asked
while each batch runs, with answers kept and without. Beside them the same pipeline
without a join, which is what reading and writing take. The rounds alternate.

Run it: ``python bench/lookups.py --events 500000 --rows 20000``.
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
from pyspark.sql import SparkSession

from headrace import (
    Pipeline,
    asking,
    broadcast,
    event,
    kafka,
    latest,
    remote,
    seconds,
    sinks,
)
from headrace._spark import end, session
from headrace.log import administer, create_topic
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics
from headrace.services import Stack
from headrace.services.addresses import Addresses
from headrace.settings import load_settings

PARTITIONS = 4
MOST_PER_BATCH = 250_000
# Brokers forget records whose own time is long ago.
BEGAN_AT = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=6)
SPAN = timedelta(hours=1)
PRICES = "prices"


@event(key="ad", time="shown_at")
class Impression:
    """What is told with a price."""

    ad: str
    number: int
    shown_at: datetime


@event(key="ad")
class Price:
    """A row of the table."""

    ad: str
    price: int


def impressions(count: int, ads: int) -> Iterator[dict[str, Any]]:
    """Give an hour of impressions."""
    for number in range(count):
        at = BEGAN_AT + SPAN * number / count
        ad = f"ad-{number * 7919 % ads:07}"
        row = {"ad": ad, "number": number, "shown_at": at.isoformat()}
        at_ms = int(at.timestamp() * 1000)
        yield {"key": ad, "value": json.dumps(row), "timestamp": at_ms}


def prices(count: int) -> Iterator[dict[str, Any]]:
    """Give the rows of the table, from before the impressions."""
    at_ms = int((BEGAN_AT - SPAN).timestamp() * 1000)
    for number in range(count):
        row = {"ad": f"ad-{number:07}", "price": number}
        yield {"key": row["ad"], "value": json.dumps(row), "timestamp": at_ms}


class Bench:
    """One stream and one table, and the ways to bring them together."""

    def __init__(self, spark: SparkSession, stack: Stack) -> None:
        self.spark = spark
        self.bootstrap = stack.address("kafka")
        self.servers = Addresses(load_settings(), stack)

    def alone(self) -> float:
        """Read and write, and look nothing up."""
        return self._told(None)

    def by_key(self) -> float:
        """Look up in the state of Spark, behind a shuffle."""
        return self._told("latest")

    def held(self) -> float:
        """Look up in a table that every task holds."""
        return self._told("broadcast")

    def asked(self) -> float:
        """Ask PostgreSQL, and keep what it answers."""
        return self._told("asked", repeatable=False)

    def asked_always(self) -> float:
        """Ask PostgreSQL for every thousand events."""
        return self._told("asked", repeatable=False, fresh=seconds(0))

    def stored(self) -> float:
        """Write the table into PostgreSQL."""
        made = Pipeline(f"bench-{uuid.uuid4().hex[:8]}")
        made.write("prices", made.read(kafka(PRICES, Price)), sinks.postgres(PRICES))
        return self._run(made)

    def _told(self, way: str | None, **given: Any) -> float:
        made = Pipeline(f"bench-{uuid.uuid4().hex[:8]}")
        shown = made.read(kafka("shown", Impression), out_of_order=seconds(10))
        told = shown
        if way == "asked":
            rows = remote.postgres(PRICES, Price)
            told = shown.join("price", rows, on="ad", lookup=asking(**given))
        elif way is not None:
            lookup = latest() if way == "latest" else broadcast()
            table = made.table(kafka(PRICES, Price))
            told = shown.join("price", table, on="ad", lookup=lookup)
        made.write("told", told, sinks.kafka(f"{made.name}-out"))
        return self._run(made)

    def _run(self, made: Pipeline) -> float:
        make_missing_topics(administer(self.bootstrap, None), made)
        with tempfile.TemporaryDirectory() as home:
            conditions = Conditions(
                self.bootstrap,
                str(Path(home) / "checkpoint"),
                until_caught_up=True,
                most_per_batch=MOST_PER_BATCH,
                servers=self.servers,
            )
            began = time.monotonic()
            start(made, self.spark, conditions).await_end()
            return time.monotonic() - began


def measure(stack: Stack, count: int, size: int, rounds: int) -> None:
    """Fill topics and table, run all ways in turns, and compare."""
    bootstrap = stack.address("kafka")
    admin = administer(bootstrap, stack.site().run.cluster_id)
    for topic in ("shown", PRICES):
        create_topic(admin, topic, partitions=PARTITIONS)
    fill(bootstrap, "shown", impressions(count, size))
    fill(bootstrap, PRICES, prices(size))
    config = {"spark.driver.memory": "3g"}
    spark = session("bench", config=config, groups=["spark-postgres"])
    bench = Bench(spark, stack)
    print(f"the table is stored: {size / bench.stored():,.0f} rows/s", flush=True)
    ways: dict[str, Callable[[], float]] = {
        "no join": bench.alone,
        "latest": bench.by_key,
        "broadcast": bench.held,
        "PostgreSQL, answers kept": bench.asked,
        "PostgreSQL, none kept": bench.asked_always,
    }
    best = in_turns(ways, count, rounds)
    for name in list(ways)[1:]:
        ratio = best["no join"] / best[name]
        print(f"{name}: {ratio:.2f} of a pipeline without a join", flush=True)
    end(spark)


def main() -> None:
    """Run all ways in turns and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    with running("kafka", "postgres") as (stack, _):
        measure(stack, given.events, given.rows, given.rounds)


if __name__ == "__main__":
    main()
