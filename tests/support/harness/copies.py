"""A topic of events, and its copies in a topic and two tables."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import Consumer, Producer, TopicPartition
from psycopg.sql import SQL, Identifier

from headrace.log import client_settings, writer_settings
from support.harness.messages import value_of
from support.harness.numbered_events import create
from support.harness.rig import PIPELINES, Ending, launch
from support.harness.warm import Drivers

DRIVER = PIPELINES / "two_systems.py"

_NUMBERS = count(1)


@dataclass
class Copies:
    """A topic of events, and its copies in a topic and two tables."""

    bootstrap: str
    database: str
    checkpoint: Path
    lanes: int = 1
    per_batch: int = 200
    name: str = field(default_factory=lambda: f"two-systems-{next(_NUMBERS)}")

    def feed(self, events: int, keys: int = 9, text: str = "") -> None:
        create(self.bootstrap, f"{self.name}-in", 2)
        producer = Producer(writer_settings(self.bootstrap))
        for number in range(events):
            key = f"key-{number % keys}"
            value = {"key": key, "number": number // keys, "text": text}
            producer.produce(f"{self.name}-in", json.dumps(value), key=key)
        assert producer.flush(60) == 0
        self.sent = {
            f"key-{k}": list(range(len(range(k, events, keys)))) for k in range(keys)
        }

    def start(
        self, failpoint: str | None = None, **changes: Any
    ) -> subprocess.Popen[str]:
        return launch(DRIVER, json.dumps(self.given | changes), failpoint)

    @property
    def given(self) -> dict[str, Any]:
        """Give what a driver is told."""
        return {
            "name": self.name,
            "topic": f"{self.name}-in",
            "lanes": self.lanes,
            "bootstrap": self.bootstrap,
            "database": self.database,
            "checkpoint": str(self.checkpoint),
            "per_batch": self.per_batch,
            "take_over": False,
        }

    def run(self, drivers: Drivers, failpoint: str | None = None) -> Ending:
        return drivers.run("two_systems", self.given, failpoint)

    def require_right(self) -> None:
        """Hold all three copies against what was sent."""
        assert self.in_topic() == self.sent
        table = self.name.replace("-", "_")
        every: dict[str, list[int]] = defaultdict(list)
        for key, number in self.in_table(f"{table}_every"):
            every[key].append(number)
        assert every == self.sent
        assert dict(self.in_table(f"{table}_latest")) == {
            key: numbers[-1] for key, numbers in self.sent.items()
        }

    def in_table(self, table: str) -> list[tuple[str, int]]:
        asked = SQL("select key, number from {} order by ctid")
        with psycopg.connect(self.database) as connection:
            return connection.execute(asked.format(Identifier(table))).fetchall()

    def in_topic(self) -> dict[str, list[int]]:
        settings = {
            "group.id": "copies",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
        consumer = Consumer({**client_settings(self.bootstrap), **settings})
        topic = f"{self.name}-out"
        left = set(consumer.list_topics(topic, 30).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in left])
        found: dict[str, list[int]] = defaultdict(list)
        while left:
            message = consumer.poll(30)
            assert message is not None
            if message.error() is not None:
                left.discard(message.partition())
                continue
            value = json.loads(value_of(message))
            found[value["key"]].append(value["number"])
        consumer.close()
        return dict(found)
