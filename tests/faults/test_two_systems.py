"""Whatever dies, a batch for Kafka and PostgreSQL ends right in both."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from numbered_events import create
from psycopg.sql import SQL, Identifier
from rig import Ending, ending, launch, stopped_jvm
from waiting import wait_until

from headrace.log import client_settings, writer_settings
from headrace.services import Stack

DRIVER = Path(__file__).with_name("two_systems.py")

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
        given = {
            "name": self.name,
            "topic": f"{self.name}-in",
            "lanes": self.lanes,
            "bootstrap": self.bootstrap,
            "database": self.database,
            "checkpoint": str(self.checkpoint),
            "per_batch": self.per_batch,
            "take_over": False,
        }
        return launch(DRIVER, json.dumps(given | changes), failpoint)

    def run(self, failpoint: str | None = None) -> Ending:
        return ending(self.start(failpoint), 300)

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
            value = json.loads(message.value())
            found[value["key"]].append(value["number"])
        consumer.close()
        return dict(found)


@pytest.fixture
def copies(bootstrap: str, postgres: str, tmp_path: Path) -> Copies:
    return Copies(bootstrap, postgres, tmp_path / "checkpoint")


def test_both_end_right_though_the_driver_dies_in_every_phase(copies: Copies) -> None:
    copies.feed(6000)

    # Two tables reach each place of PostgreSQL in each batch.
    for failpoint in (
        "after-offsets:2",
        "postgres.tasks-running:3",
        "postgres.lane-fenced:2",
        "postgres.ledger-read:3",
        "postgres.rows-copying:2",
        "postgres.rows-flushed:3",
        "postgres.record-sent:2",
        "postgres.commit-in-doubt:3",
        "postgres.committed:1",
        "postgres.committed:4",
        "committed:3",
        "before-spark-commit:2",
        "after-spark-commit:1",
    ):
        fallen = copies.run(failpoint)
        assert fallen.was_killed, f"{failpoint}: {fallen.log}"
    last = copies.run()

    assert last.status == 0, last.log
    copies.require_right()


def test_each_batch_is_evaluated_once_for_all_sinks(copies: Copies) -> None:
    copies.lanes = 2
    copies.feed(500)

    told = copies.run().told

    assert told["read"] == 500
    assert told["rows"] == {"log": 500, "latest": 500, "every": 500, "dead-letters": 0}
    copies.require_right()


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """Give a file that a failpoint makes, and whose end lets the driver go on."""
    file = tmp_path / "held"
    yield file
    file.unlink(missing_ok=True)


@pytest.mark.parametrize("place", ["rows-copying", "record-sent"])
def test_a_server_that_is_killed_within_a_batch_heals_by_itself(
    copies: Copies, servers: Stack, held: Path, place: str
) -> None:
    copies.feed(900, text="x" * 400)
    driver = copies.start(f"postgres.{place}:3:{held}")
    wait_until("the driver is in the batch", held.exists, seconds=120)

    pid = servers.site().process("postgres").pid
    assert pid
    os.kill(pid, signal.SIGKILL)
    servers.up(["postgres"])
    held.unlink()
    end = ending(driver, 300)

    assert end.status == 0, end.log
    copies.require_right()


def test_a_zombie_and_its_successor_write_one_after_the_other(copies: Copies) -> None:
    copies.feed(1200)
    zombie = copies.start("postgres.record-sent:3:stop")
    jvm = wait_until("the JVM is stopped", lambda: stopped_jvm(zombie), seconds=120)
    successor = copies.start(take_over=True)
    with psycopg.connect(copies.database, autocommit=True) as looking:
        waits = (
            "select from pg_stat_activity where wait_event_type = 'Lock' "
            f"and application_name like 'headrace.{copies.name}.%'"
        )
        wait_until(
            "the successor waits for the ledger",
            lambda: looking.execute(waits).fetchone() is not None,  # type: ignore[arg-type]
            seconds=120,
        )
    jvm.resume()
    ends = [ending(zombie, 300), ending(successor, 300)]

    slugs = {end.told.get("slug") for end in ends}
    assert slugs <= {None, "checkpoint-in-use", "writer-fenced"}, ends
    last = copies.run()
    assert last.status == 0, last.log
    copies.require_right()
