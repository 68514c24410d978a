"""A driver that is killed leaves no trace in the tables that it keeps."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from headrace.log import (
    COMPACTED,
    Reading,
    administer,
    cleanup_policy,
    create_topic,
    topic_config,
    writer_settings,
)
from headrace.plan.changes import ReadChanges
from headrace.plan.steps import walk
from headrace.runtime.table_check import Checked, check_table
from support.cases.table_cases import lived, partitioned, seeded
from support.cases.table_wire import envelope, named
from support.harness.numbered_events import create
from support.harness.rig import Ending
from support.harness.waiting import wait_until
from support.harness.warm import Drivers, WarmDrivers
from support.pipelines.tabled import pipeline

CASES = 60
PARTITIONS = 3
NUMBERS = count(1)

Rows = dict[str, dict[str, Any]]


def produce(bootstrap: str, topic: str, *, is_full: bool = False) -> Rows:
    """Write the changes of many small databases; give the rows they end with."""
    chance = seeded(topic)
    producer = Producer(writer_settings(bootstrap))
    rows: Rows = {}
    left: list[list[Any]] = []
    for case in range(CASES):
        database = lived(chance, chance.randrange(10, 40), is_full=is_full)
        left.append([(case, c) for c in partitioned(database.log, PARTITIONS)])
        for key, kept in database.rows.items():
            rows[named(case, key)] = kept | {"id": named(case, key)}
    for case, change in _mixed(left, chance):
        key = named(case, change.key)
        row = None if change.row is None else change.row | {"id": key}
        value = envelope(change, key, row)
        told = {"key": json.dumps({"id": key}), "partition": change.partition}
        producer.produce(topic, value, **told)
        if row is None:
            producer.produce(topic, None, **told)
    assert producer.flush(60) == 0
    return rows


def _mixed(left: list[list[Any]], chance: random.Random) -> Iterator[Any]:
    """Give what several lists hold, each in its order, one now and one then."""
    while left := [one for one in left if one]:
        yield chance.choice(left).pop(0)


def table(bootstrap: str, topic: str) -> Rows:
    """Read what a topic's last committed records say of each key."""
    found: Rows = {}
    for batch in Reading(administer(bootstrap, None), bootstrap, topic):
        for record in batch:
            assert record.key is not None
            found.pop(record.key.decode(), None)
            if record.value is not None:
                found[record.key.decode()] = json.loads(record.value)
    return found


def large(rows: Rows) -> Rows:
    return {
        key: {"id": key, "twice": row["amount"] * 2}
        for key, row in rows.items()
        if row["amount"] >= 500
    }


class Job:
    """A captured table in a topic, and the drivers that keep it."""

    def __init__(
        self, bootstrap: str, drivers: Drivers, home: Path, lanes: int = 1
    ) -> None:
        self.bootstrap = bootstrap
        self.drivers = drivers
        self.name = f"tabled-{next(NUMBERS)}"
        self.topic = f"{self.name}.public.rows"
        self.given = {
            "bootstrap": bootstrap,
            "name": self.name,
            "database": self.name,
            "checkpoint": str(home / "checkpoint"),
            "lanes": lanes,
        }
        create(bootstrap, self.topic, PARTITIONS)

    def run(self, failpoint: str | None = None, **more: Any) -> Ending:
        return self.drivers.run("tabled", self.given | more, failpoint)

    def killed(self, failpoint: str, **more: Any) -> None:
        fallen = self.run(failpoint, **more)
        assert fallen.was_killed, f"{failpoint}: {fallen.log}"

    def finished(self, **more: Any) -> Ending:
        ended = self.run(**more)
        assert ended.status == 0, ended.log
        return ended

    @property
    def rows(self) -> Rows:
        return table(self.bootstrap, f"{self.name}-rows")

    @property
    def large(self) -> Rows:
        return table(self.bootstrap, f"{self.name}-large")


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_table_is_that_of_its_database_though_the_driver_dies(
    bootstrap: str, drivers: Drivers, tmp_path: Path, lanes: int
) -> None:
    job = Job(bootstrap, drivers, tmp_path, lanes)
    rows = produce(bootstrap, job.topic)

    for failpoint in "rows-flushed:2", "committed:2", "after-spark-commit:1":
        job.killed(failpoint, per_batch=300)
    job.finished(per_batch=300)

    assert job.rows == rows
    assert job.large == large(rows)
    admin = administer(bootstrap, None)
    assert topic_config(admin, f"{job.name}-rows") == COMPACTED
    assert cleanup_policy(admin, f"{job.name}-large") == "compact"


def test_a_rebuild_takes_away_what_is_gone_though_it_is_killed(
    bootstrap: str, drivers: Drivers, tmp_path: Path
) -> None:
    job = Job(bootstrap, drivers, tmp_path)
    rows = produce(bootstrap, job.topic)
    job.finished()
    stray = {"id": "stray", "amount": 1, "note": None, "tags": None}
    producer = Producer(writer_settings(bootstrap))
    producer.produce(f"{job.name}-rows", json.dumps(stray), key="stray")
    assert producer.flush(60) == 0

    job.killed("rows-flushed:1", rebuild=True)
    assert job.run().told["slug"] == "rebuild-unfinished"
    assert job.rows == rows | {"stray": stray}
    rebuilt = job.finished(rebuild=True)

    gone = {f"{job.name}-rows": 1, f"{job.name}-large": 0}
    assert rebuilt.told["gone"] == gone
    assert Path(rebuilt.told["aside"]).name == "checkpoint.before-1"
    assert job.rows == rows
    assert job.large == large(rows)
    job.finished()
    assert job.rows == rows


def checked(bootstrap: str, job: Job) -> Checked:
    (first, _) = pipeline(job.name, job.name).outputs
    read = next(step for step in walk(first.step) if isinstance(step, ReadChanges))
    reading = Reading(administer(bootstrap, None), bootstrap, job.topic)
    return check_table(read, (record for batch in reading for record in batch))


def test_a_check_finds_what_compaction_would_lose(
    bootstrap: str, warm: WarmDrivers, tmp_path: Path
) -> None:
    lacking = Job(bootstrap, warm, tmp_path / "a")
    full = Job(bootstrap, warm, tmp_path / "b")
    rows = produce(bootstrap, lacking.topic)
    whole = produce(bootstrap, full.topic, is_full=True)

    found = checked(bootstrap, lacking)
    assert found.rows == len(rows)
    assert not found.is_same
    assert any("was not sent" in what for what in found.differences)
    found = checked(bootstrap, full)
    assert (found.rows, found.is_same) == (len(whole), True)
    assert found.kept < found.records


def records(bootstrap: str, topic: str) -> int:
    reading = Reading(administer(bootstrap, None), bootstrap, topic)
    return sum(len(batch) for batch in reading)


def test_a_topic_that_was_compacted_gives_the_same_table(
    bootstrap: str, warm: WarmDrivers, tmp_path: Path
) -> None:
    job = Job(bootstrap, warm, tmp_path)
    admin = administer(bootstrap, None)
    compacting = {
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": "0",
    }
    small = f"{job.name}c.public.rows"
    create_topic(admin, small, partitions=PARTITIONS, config=compacting)
    whole = produce(bootstrap, small, is_full=True)
    before = records(bootstrap, small)

    def is_compacted() -> bool:
        # A segment is closed, and then compacted, when the next record comes.
        producer = Producer(writer_settings(bootstrap))
        for partition in range(PARTITIONS):
            producer.produce(small, None, key="rolling", partition=partition)
        assert producer.flush(60) == 0
        return records(bootstrap, small) < before // 2

    wait_until("the topic is compacted", is_compacted, seconds=180, step=1)

    job.given |= {"database": f"{job.name}c"}
    job.finished()

    assert job.rows == whole
