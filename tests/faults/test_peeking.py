"""A watermark that looks at the log's end: sooner, and nothing else is different."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession

from headrace import hours
from headrace.delivery import Delivering
from headrace.log import administer, client_settings, writer_settings
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics
from support.harness.committed import committed
from support.harness.messages import topic_of, value_of
from support.harness.numbered_events import create
from support.harness.waiting import wait_until
from support.harness.warm import Drivers, unused
from support.pipelines.peeked import LAG, LATE, OUTPUTS, SLIDING, pipeline, told

# Records bear the time of their rows, and a log does not keep what is months old.
START = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - hours(2)
ROUND = timedelta(minutes=1)
# When a minute has its last records, one in each partition.
SETTLED = timedelta(seconds=29)
MINUTES, MANY_MINUTES = 6, 12
# From here on there is a watermark that the oldest payments are behind.
LATE_FROM = 3
CARDS = [f"card-{number}" for number in range(5)]


@dataclass
class World:
    """Payments, refunds and limits, minute by minute.

    Each is behind the latest of its partition by less than the lag, or by so much that
    it is late whatever the batches are: what is told depends on nothing else.
    """

    bootstrap: str
    name: str
    sent: list[tuple[str, dict[str, Any], datetime]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for topic in self.topics.values():
            create(self.bootstrap, topic, 2)
        self._chance = random.Random(7)  # noqa: S311 - an order, no secret
        self._producer = Producer(writer_settings(self.bootstrap))

    @property
    def topics(self) -> dict[str, str]:
        kinds = ("payments", "refunds", "limits")
        return {kind: f"{self.name}-{kind}" for kind in kinds}

    def write(self, minute: int) -> None:
        """Write what a minute has, and wait until the log has it."""
        begin = START + minute * ROUND
        closing = [begin + SETTLED + timedelta(milliseconds=n) for n in (0, 1)]
        for card in CARDS:
            self._send("limits", card, {"cents": minute}, begin)
        for _ in range(3):
            self._refund(begin + self._moment())
        for partition, at in enumerate(closing):
            self._send("limits", "none", {"cents": 0}, at, partition)
            self._refund(at, partition)
        # One watermark holds for all, so payments are settled when they are the last.
        assert self._producer.flush(60) == 0
        # In some minutes the largest time is not among the last records.
        for _ in range(300 if minute % 3 == 2 else 20):
            self._payment(begin + self._moment())
        if minute >= LATE_FROM:
            self._payment(begin - timedelta(hours=2))
        for partition, at in enumerate(closing):
            self._payment(at, partition)
        assert self._producer.flush(60) == 0

    def is_read(self, pipeline_name: str) -> bool:
        """Tell whether a pipeline has shown that all of it is read."""
        places = [TopicPartition(t, n) for t in self.topics.values() for n in (0, 1)]
        settings = {"group.id": f"headrace.{pipeline_name}"}
        consumer = Consumer({**client_settings(self.bootstrap), **settings})
        read = consumer.committed(places, 30)
        consumer.close()
        return sum(max(place.offset, 0) for place in read) == len(self.sent)

    def _moment(self) -> timedelta:
        return self._chance.uniform(0, 1) * SETTLED

    def _payment(self, at: datetime, partition: int | None = None) -> None:
        card, number = self._chance.choice(CARDS), len(self.sent)
        values = {"number": number, "made_at": at.isoformat()}
        for _ in range(2 if number % 40 == 0 else 1):
            self._send("payments", card, values, at, partition)

    def _refund(self, at: datetime, partition: int | None = None) -> None:
        card = self._chance.choice(CARDS)
        values = {"refund": len(self.sent), "back_at": at.isoformat()}
        self._send("refunds", card, values, at, partition)

    def _send(
        self,
        kind: str,
        card: str,
        values: dict[str, Any],
        at: datetime,
        partition: int | None = None,
    ) -> None:
        self._producer.produce(
            self.topics[kind],
            json.dumps({"card": card, **values}),
            key=card,
            timestamp=int(at.timestamp() * 1000),
            # The rows of a card are in order.
            partition=CARDS.index(card) % 2 if partition is None else partition,
        )
        self.sent.append((kind, {"card": card, **values}, at))


def outcome(bootstrap: str, name: str) -> dict[str, Any]:
    """Give what is committed: the last pane of each tumbling window, and all else."""
    found: dict[str, Any] = {output: Counter() for output in OUTPUTS}
    corrected: dict[str, tuple[Any, ...]] = {}
    for message in committed(bootstrap, [f"{name}-{o}" for o in OUTPUTS], name):
        output = topic_of(message).removeprefix(f"{name}-")
        row = json.loads(value_of(message))
        if output == "tumbled":
            corrected[row["window_id"]] = (row["card"], row["n"], row["last"])
        else:
            # By how much an event is late depends on the batches; that it is does not.
            row.pop("late_by_ms", None)
            found[output][json.dumps(row, sort_keys=True)] += 1
    return found | {"tumbled": corrected}


def slid(world: World, minutes: int) -> Counter[tuple[str, int, int]]:
    """Compute in plain Python what sliding windows tell of all minutes but the last."""
    payments = {
        values["number"]: (values["card"], at)
        for kind, values, at in world.sent
        if kind == "payments" and START <= at < START + (minutes - 1) * ROUND
    }
    found: Counter[tuple[str, int, int]] = Counter()
    for card, at in payments.values():
        recent = [
            number
            for number, (other, then) in payments.items()
            if other == card and at - SLIDING < then <= at
        ]
        found[card, len(recent), max(recent)] += 1
    return found


def require_as_in_python(world: World, minutes: int, found: dict[str, Any]) -> None:
    """Hold what was told against what can be computed without a watermark."""
    rows: Counter[tuple[str, int, int]] = Counter()
    for text, times in found["slid"].items():
        row = json.loads(text)
        rows[row["card"], row["n"], row["last"]] += times
    assert rows == slid(world, minutes)
    wanted = {
        v["number"] for kind, v, at in world.sent if kind == "payments" and at < START
    }
    for output in LATE:
        late = [json.loads(text)["number"] for text in found[output].elements()]
        assert sorted(late) == sorted(wanted), output


def test_what_is_told_is_the_same_and_comes_with_the_events_that_complete_it(
    spark: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    world = World(bootstrap, "ahead")
    names = {True: "ahead-peeking", False: "ahead-plain"}
    made = {
        peek: pipeline(name, world.topics, peek=peek) for peek, name in names.items()
    }
    running: dict[bool, Delivering] = {}
    for peek, declared in made.items():
        make_missing_topics(administer(bootstrap, None), declared)
        conditions = Conditions(bootstrap, str(tmp_path / declared.name))
        running[peek] = start(declared, spark, conditions)
    knew: dict[bool, list[int]] = {True: [], False: []}
    try:
        for minute in range(MINUTES):
            world.write(minute)
            for peek, delivering in running.items():
                delivering.query.processAllAvailable()
                if last_watermark(delivering) == settled(minute):
                    knew[peek].append(minute)
    finally:
        for delivering in running.values():
            delivering.stop()

    found = {peek: outcome(bootstrap, name) for peek, name in names.items()}
    require_as_in_python(world, MINUTES, found[False])
    for output in OUTPUTS:
        assert found[True][output] == found[False][output], output
        assert found[True][output], output
    # With its last events a batch knows of them, or it does not. A look that takes too
    # long on a busy machine is given up, so not every batch has to.
    assert knew[True]
    assert not knew[False]


def settled(minute: int) -> datetime:
    """Give the watermark that the last records of a minute bring."""
    return START + minute * ROUND + SETTLED - LAG


def last_watermark(delivering: Delivering) -> datetime | None:
    """Give the watermark of the last batch that had events, if there was any."""
    *_, last = (
        batch.watermark for batch in told(delivering) if batch.windows["slid"]["in"]
    )
    return None if last is None else datetime.fromisoformat(last)


def test_it_is_told_once_though_the_driver_dies(
    bootstrap: str, drivers: Drivers, tmp_path: Path
) -> None:
    world = World(bootstrap, unused("dying"))
    name = f"{world.name}-peeking"
    done = tmp_path / "done"
    given = {
        "bootstrap": bootstrap,
        "name": name,
        "topics": world.topics,
        "checkpoint": str(tmp_path / "checkpoint"),
        "until": str(done),
    }

    def send() -> None:
        for minute in range(MANY_MINUTES):
            world.write(minute)
            wait_until("it was read", lambda: world.is_read(name), seconds=240)
        done.touch()

    sending = Thread(target=send)
    sending.start()
    # A clock looks ahead from the third batch after a start on.
    for failpoint in ("rows-flushed:4", "committed:4"):
        fallen = drivers.run("peeked", given, failpoint)
        assert fallen.was_killed, fallen.log
    last = drivers.run("peeked", given)
    sending.join()

    assert last.status == 0, last.log
    require_as_in_python(world, MANY_MINUTES, outcome(bootstrap, name))
