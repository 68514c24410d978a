"""What an event costs in a window of ten thousand keys, and of a million, in one run.

Each topic holds as many events, spread evenly over its keys and over ten minutes; all
are counted and summed by card and minute by the operator that keeps late events. With
more keys than events in a minute, each event makes a window, fires it and clears it.
What counts is the ratio of the time for an event. Beside it stand the state as Spark
reports it, and the memory of the Spark process at its peak. The rounds alternate.

Run it: ``python bench/growth.py --events 1000000``.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from headrace import Pipeline, event, kafka, minutes, seconds, sinks, tumbling
from headrace._spark import end, session
from headrace.log import administer, create_topic, writer_settings
from headrace.runtime.progress import BatchProgress
from headrace.runtime.run import Conditions, follow, start
from headrace.runtime.topics import make_missing_topics
from headrace.services import Stack

PARTITIONS = 4
MOST_PER_BATCH = 250_000
BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)
SPAN = timedelta(minutes=10)
# Odd, and no multiple of five: keys come in no order, and all come.
STRIDE = 2_654_435_761


@event(key="card", time="made_at")
class Payment:
    """What is counted."""

    card: str
    number: int
    cents: int
    made_at: datetime


def write_events(bootstrap: str, topic: str, count: int, keys: int) -> None:
    """Fill a topic with ten minutes of payments."""
    settings = {"linger.ms": 50, "queue.buffering.max.messages": 500_000}
    producer = Producer({**writer_settings(bootstrap), **settings})
    for number in range(count):
        card = f"card-{number * STRIDE % keys:07}"
        made_at = BEGAN_AT + SPAN * number / count
        payment = {"card": card, "number": number, "cents": number % 997}
        value = json.dumps(payment | {"made_at": made_at.isoformat()})
        while True:
            try:
                producer.produce(topic, key=card, value=value)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


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


def run(spark: SparkSession, bootstrap: str, topic: str, seen: Seen) -> None:
    """Read a topic to its end."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    made = Pipeline(name)
    payments = made.read(kafka(topic, Payment), out_of_order=seconds(10))
    counts = payments.window(
        "counts",
        tumbling(minutes(1)),
        by="card",
        late="side-output",
        payments="count(*)",
        spent="sum(cents)",
    )
    made.write("counts", counts, sinks.kafka(f"{name}-out"))
    made.write("late", counts.late, sinks.kafka(f"{name}-late"))
    make_missing_topics(administer(bootstrap, None), made)
    memory = Memory(spark)
    memory.forget()
    with tempfile.TemporaryDirectory() as home:
        conditions = Conditions(
            bootstrap,
            str(Path(home) / "checkpoint"),
            until_caught_up=True,
            most_per_batch=MOST_PER_BATCH,
        )
        began = time.monotonic()
        query = start(made, spark, conditions)
        follow(query, seen.tell, Event(), outputs=made.outputs)
        seen.seconds.append(time.monotonic() - began)
    seen.peak = max(seen.peak, memory.peak())


def measure(stack: Stack, given: argparse.Namespace) -> None:
    """Fill a topic for each number of keys, count them, and compare."""
    bootstrap = stack.address("kafka")
    admin = administer(bootstrap, stack.site().run.cluster_id)
    for keys in given.keys:
        create_topic(admin, f"input-{keys}", partitions=PARTITIONS)
        write_events(bootstrap, f"input-{keys}", given.events, keys)
    spark = session("bench", config={"spark.driver.memory": "3g"})
    seen = {keys: Seen() for keys in given.keys}
    for number in range(given.rounds):
        for keys, found in seen.items():
            run(spark, bootstrap, f"input-{keys}", found)
            took = found.seconds[-1]
            print(f"round {number + 1}: {keys:,} keys: {took:.1f} s", flush=True)
    least = min(seen[given.keys[0]].seconds)
    for keys, found in seen.items():
        best = min(found.seconds)
        print(
            f"{keys:,} keys: {best / given.events * 1e6:.1f} us an event, "
            f"{best / least:.2f} times those of {given.keys[0]:,}; "
            f"{found.panes // given.rounds:,} panes; at most {found.rows:,} rows of "
            f"state, {found.memory / 2**20:.0f} MB in memory, "
            f"{found.disk / 2**20:.0f} MB on disk; {found.peak:,} MB of process memory"
        )
    end(spark)


def main() -> None:
    """Start a broker and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument(
        "--keys", type=int, nargs="+", default=[10_000, 100_000, 1_000_000]
    )
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o755)
        stack = Stack(Path(home) / "run")
        try:
            stack.up(["kafka"])
            measure(stack, given)
        finally:
            stack.down()


if __name__ == "__main__":
    main()
