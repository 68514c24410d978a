"""What an event costs in windows of ten thousand keys, and of a million, in one run.

Each topic holds as many events, spread evenly over its keys and over ten minutes; all
are counted and summed by card, by the operator that keeps late events and by Spark's
own functions and sink. Windows are as long as it takes for a key to have two events,
so that every topic makes as many panes and what grows is the state alone; with
``--window 60`` each event of many keys makes a window of its own, fires it and clears
it. What counts is the ratio of the time for an event. Beside it stand the state as
Spark reports it, and the memory of the Spark process at its peak. The rounds alternate.

Run it: ``python bench/growth.py --events 2000000``.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

from ground import fill, running
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from headrace import Pipeline, event, kafka, seconds, sinks, tumbling
from headrace._spark import end, session
from headrace.log import administer, create_topic
from headrace.runtime.progress import BatchProgress
from headrace.runtime.run import Conditions, follow, start
from headrace.runtime.topics import make_missing_topics
from headrace.services import Stack

PARTITIONS = 4
MOST_PER_BATCH = 250_000
BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)
SPAN = timedelta(minutes=10)
EVENTS_A_PANE = 2
FIELDS = "card string, number bigint, cents bigint, made_at timestamp"
# Odd, and no multiple of five: keys come in no order, and all come.
STRIDE = 2_654_435_761


@event(key="card", time="made_at")
class Payment:
    """What is counted."""

    card: str
    number: int
    cents: int
    made_at: datetime


def payments(count: int, keys: int) -> Iterator[dict[str, Any]]:
    """Give ten minutes of payments, and what ends them."""
    for number in range(count):
        card = f"card-{number * STRIDE % keys:07}"
        made_at = BEGAN_AT + SPAN * number / count
        payment = {"card": card, "number": number, "cents": number % 997}
        value = json.dumps(payment | {"made_at": made_at.isoformat()})
        yield {"key": card, "value": value}
    much_later = (BEGAN_AT + 3 * SPAN).isoformat()
    ending = {"card": "last", "number": count, "cents": 0, "made_at": much_later}
    for partition in range(PARTITIONS):
        yield {"key": "last", "value": json.dumps(ending), "partition": partition}


class Memory:
    """The memory of the Spark process, as the system counts it."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark.sparkContext._jvm
        self.process = Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}")

    def forget(self) -> None:
        """Begin a new peak."""
        (self.process / "clear_refs").write_text("5")

    def peak(self) -> int:
        """Give the peak in megabytes."""
        status = (self.process / "status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) // 1024 if found else 0


@dataclass
class Seen:
    """What a number of keys took."""

    seconds: list[float] = field(default_factory=list)
    panes: int = 0
    rows: int = 0
    memory: int = 0
    disk: int = 0
    peak: int = 0

    def tell(self, progress: BatchProgress) -> None:
        """Note what a batch has given and kept."""
        self.panes += progress.windows.get("counts", {}).get("panes", 0)
        kept = progress.state["counts"]
        self.rows = max(self.rows, kept["rows"])
        self.memory = max(self.memory, kept["memory_bytes"])
        self.disk = max(self.disk, kept["disk_bytes"])


@dataclass(frozen=True)
class Trial:
    """A topic that is counted, and in windows of which length."""

    bootstrap: str
    topic: str
    window: timedelta


def by_operator(spark: SparkSession, trial: Trial, seen: Seen) -> None:
    """Count with the operator that keeps late events."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    made = Pipeline(name)
    payments = made.read(kafka(trial.topic, Payment), out_of_order=seconds(10))
    counts = payments.window(
        "counts",
        tumbling(trial.window),
        by="card",
        late="side-output",
        payments="count(*)",
        spent="sum(cents)",
    )
    made.write("counts", counts, sinks.kafka(f"{name}-out"))
    made.write("late", counts.late, sinks.kafka(f"{name}-late"))
    make_missing_topics(administer(trial.bootstrap, None), made)
    memory = Memory(spark)
    memory.forget()
    with tempfile.TemporaryDirectory() as home:
        conditions = Conditions(
            trial.bootstrap,
            str(Path(home) / "checkpoint"),
            until_caught_up=True,
            most_per_batch=MOST_PER_BATCH,
        )
        began = time.monotonic()
        query = start(made, spark, conditions)
        follow(query, seen.tell, Event(), outputs=made.outputs)
        seen.seconds.append(time.monotonic() - began)
    seen.peak = max(seen.peak, memory.peak())


def by_hand(spark: SparkSession, trial: Trial, seen: Seen) -> None:
    """Count with Spark's own functions and sink."""
    server = {"kafka.bootstrap.servers": trial.bootstrap}
    value = sql.from_json(sql.col("value").cast("string"), FIELDS)
    counted = (
        spark.readStream.format("kafka")
        .options(**server, subscribe=trial.topic, startingOffsets="earliest")
        .option("maxOffsetsPerTrigger", MOST_PER_BATCH)
        .load()
        .select(value.alias("value"))
        .select("value.*")
        .withWatermark("made_at", "10 seconds")
        .groupBy(
            "card", sql.window("made_at", f"{trial.window.total_seconds():g} seconds")
        )
        .agg(sql.count("*").alias("payments"), sql.sum("cents").alias("spent"))
        .select(sql.to_json(sql.struct("*")).alias("value"))
    )
    with tempfile.TemporaryDirectory() as home:
        began = time.monotonic()
        counted.writeStream.format("kafka").options(
            **server, topic=f"{trial.topic}-out", checkpointLocation=home
        ).trigger(availableNow=True).start().awaitTermination()
        seen.seconds.append(time.monotonic() - began)


def measure(stack: Stack, given: argparse.Namespace) -> None:
    """Fill a topic for each number of keys, count them, and compare."""
    bootstrap = stack.address("kafka")
    admin = administer(bootstrap, stack.site().run.cluster_id)
    trials = {}
    for keys in given.keys:
        topic = f"input-{keys}"
        create_topic(admin, topic, partitions=PARTITIONS)
        create_topic(admin, f"{topic}-out", partitions=PARTITIONS)
        fill(bootstrap, topic, payments(given.events, keys))
        windows = max(1, given.events // (keys * EVENTS_A_PANE))
        window = timedelta(seconds=given.window) if given.window else SPAN / windows
        trials[keys] = Trial(bootstrap, topic, window)
    spark = session("bench", config={"spark.driver.memory": "3g"})
    for way in (by_operator, by_hand):
        seen = {keys: Seen() for keys in trials}
        for number in range(given.rounds):
            for keys, trial in trials.items():
                way(spark, trial, seen[keys])
                took = seen[keys].seconds[-1]
                print(
                    f"{way.__name__}, round {number + 1}: {keys:,} keys: {took:.1f} s"
                )
        tell(way.__name__, seen, given)
    end(spark)


def tell(way: str, seen: dict[int, Seen], given: argparse.Namespace) -> None:
    """Compare the best round of each number of keys."""
    least = min(seen[given.keys[0]].seconds)
    for keys, found in seen.items():
        best = min(found.seconds)
        told = (
            f"{way}, {keys:,} keys: {best / given.events * 1e6:.1f} us an event, "
            f"{best / least:.2f} times those of {given.keys[0]:,}"
        )
        if found.rows:
            told += (
                f"; {found.panes // given.rounds:,} panes; at most {found.rows:,} rows "
                f"of state, {found.memory / 2**20:.0f} MB in memory, "
                f"{found.disk / 2**20:.0f} MB on disk; {found.peak:,} MB of process "
                "memory"
            )
        print(told, flush=True)


def main() -> None:
    """Start a broker and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument(
        "--keys", type=int, nargs="+", default=[10_000, 100_000, 1_000_000]
    )
    parser.add_argument("--window", type=int, metavar="SECONDS")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with running("kafka") as (stack, _):
        measure(stack, given)


if __name__ == "__main__":
    main()
