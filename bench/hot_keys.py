"""One key with nine of ten events: its window spread over parts, and not, in one run.

Both read the same topic and put the same aggregates together by card and minute. What
counts is the ratio of their times, and how uneven the tasks are that keep the windows:
which share of the events, and of the tasks' time, the busiest task of a batch has.
The rounds alternate.

Run it: ``python bench/hot_keys.py --events 1000000``.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ground import fill, running
from pyspark.sql import SparkSession

from headrace import Pipeline, event, kafka, minutes, seconds, sinks, tumbling
from headrace._spark import end, session
from headrace.log import administer, create_topic
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics
from headrace.services import Stack

PARTITIONS = 4
MOST_PER_BATCH = 250_000
BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)
SPAN = timedelta(minutes=10)
QUIET_KEYS = 1000
AGGREGATES = {
    "payments": "count(*)",
    "spent": "sum(cents)",
    "usual": "percentile_approx(cents, array(0.5, 0.99), 1000)",
    "places": "approx_count_distinct(number)",
    "largest": "top(10, cents)",
}


@event(key="card", time="made_at")
class Payment:
    """What both sides read."""

    card: str
    number: int
    cents: int
    made_at: datetime


def payments(count: int, heat: float) -> Iterator[dict[str, Any]]:
    """Give ten minutes of payments, most of them of one card."""
    chance = random.Random(1)  # noqa: S311 - no secret
    for number in range(count):
        is_hot = chance.random() < heat
        card = "hot" if is_hot else f"card-{chance.randrange(QUIET_KEYS)}"
        made_at = BEGAN_AT + SPAN * number / count
        payment = {"card": card, "number": number, "cents": chance.randrange(10**6)}
        value = json.dumps(payment | {"made_at": made_at.isoformat()})
        # Not by key: reading is even, and what is uneven is the windows' work.
        yield {"value": value, "partition": number % PARTITIONS}


@dataclass
class Seen:
    """What a side took, and what its tasks that keep windows were like."""

    seconds: list[float] = field(default_factory=list)
    events: int = 0
    busiest_events: int = 0
    task_ms: int = 0
    busiest_ms: int = 0

    def add(self, stages: list[list[tuple[int, int]]]) -> None:
        """Count in the stages of a run: the events and the time of each task."""
        for tasks in stages:
            self.events += sum(events for events, _ in tasks)
            self.busiest_events += max(events for events, _ in tasks)
            self.task_ms += sum(took for _, took in tasks)
            self.busiest_ms += max(took for _, took in tasks)

    def __str__(self) -> str:
        """Say what the busiest tasks had of it all."""
        return (
            f"best of {len(self.seconds)}: {min(self.seconds):.1f} s; the busiest task "
            f"has {self.busiest_events / self.events:.0%} of the events and "
            f"{self.busiest_ms / self.task_ms:.0%} of the tasks' time, "
            f"{self.busiest_ms / len(self.seconds) / 1000:.1f} s a run"
        )


class Bench:
    """A topic, and the two ways to put it together."""

    def __init__(self, spark: SparkSession, bootstrap: str) -> None:
        self.spark = spark
        self.bootstrap = bootstrap
        self.told = -1

    def run(self, hot_keys: str | None) -> float:
        """Read the topic to its end."""
        name = f"bench-{uuid.uuid4().hex[:8]}"
        made = Pipeline(name)
        payments = made.read(kafka("input", Payment), out_of_order=seconds(10))
        windows: dict[str, Any] = {"by": "card", "hot_keys": hot_keys, **AGGREGATES}
        counts = payments.window("counts", tumbling(minutes(1)), **windows)
        made.write("counts", counts, sinks.kafka(f"{name}-out"))
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

    def stages(self, least: int) -> list[list[tuple[int, int]]]:
        """Give the tasks of new stages that took at least so many rows of a shuffle."""
        context: Any = self.spark.sparkContext
        store = context._jsc.sc().statusStore()
        none = context._gateway.new_array(context._jvm.double, 0)
        stages = store.stageList(
            None, False, False, none, context._jvm.java.util.List.of()
        )
        found = []
        last = self.told
        for index in range(stages.size()):
            stage = stages.apply(index)
            if stage.stageId() <= self.told:
                continue
            last = max(last, stage.stageId())
            if stage.shuffleReadRecords() >= least:
                tasks = store.taskList(stage.stageId(), stage.attemptId(), 1000)
                found.append([measured(tasks.apply(i)) for i in range(tasks.size())])
        self.told = last
        return found


def measured(task: Any) -> tuple[int, int]:
    """Give how many rows a task has read of a shuffle, and its time in ms."""
    metrics = task.taskMetrics().get()
    return metrics.shuffleReadMetrics().recordsRead(), metrics.executorRunTime()


def measure(stack: Stack, given: argparse.Namespace) -> None:
    """Fill a topic, put it together both ways, and compare."""
    bootstrap = stack.address("kafka")
    admin = administer(bootstrap, stack.site().run.cluster_id)
    create_topic(admin, "input", partitions=PARTITIONS)
    fill(bootstrap, "input", payments(given.events, given.heat))
    spark = session("bench", config={"spark.driver.memory": "3g"})
    bench = Bench(spark, bootstrap)
    ways = {"not spread": None, "spread": "spread"}
    seen = {name: Seen() for name in ways}
    for number in range(given.rounds):
        for name, hot_keys in ways.items():
            took = bench.run(hot_keys)
            seen[name].seconds.append(took)
            seen[name].add(bench.stages(MOST_PER_BATCH // 10))
            print(f"round {number + 1}: {name}: {took:.1f} s", flush=True)
    for name, found in seen.items():
        print(f"{name}: {found}")
    ratio = min(seen["not spread"].seconds) / min(seen["spread"].seconds)
    busiest = seen["not spread"].busiest_ms / seen["spread"].busiest_ms
    print(f"spread: {ratio:.2f} times as fast; its busiest task {busiest:.2f} times")
    end(spark)


def main() -> None:
    """Start a broker and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--heat", type=float, default=0.9)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with running("kafka") as (stack, _):
        measure(stack, given)


if __name__ == "__main__":
    main()
