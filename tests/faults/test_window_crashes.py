"""A driver that is killed leaves no trace in the panes of any kind of window."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from headrace.log import writer_settings
from support.harness.committed import committed
from support.harness.messages import key_of, topic_of, value_of
from support.harness.numbered_events import create
from support.harness.rig import PIPELINES, Ending, ending, launch
from support.pipelines.windowed import KINDS, NATIVE, keeps_late

DRIVER = PIPELINES / "windowed.py"
EVENTS = 1500
# In some batches and not in others.
TORN = (3, 4, 700, 1499)
BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)

Panes = dict[str, dict[bytes, list[dict[str, Any]]]]


def write_payments(bootstrap: str, topic: str) -> None:
    """Write events that come out of order, and some that come too late."""
    create(bootstrap, topic, 2)
    chance = random.Random(5)  # noqa: S311 - an order, no secret
    producer = Producer(writer_settings(bootstrap))
    for number in range(EVENTS):
        card = f"card-{chance.randrange(12)}"
        behind = chance.choice([0, 0, 0, 10, 25, chance.randrange(7200)])
        made_at = BEGAN_AT + timedelta(seconds=5 * number - behind)
        payment = {"card": card, "number": number, "cents": number % 100}
        value = json.dumps(payment | {"made_at": made_at.isoformat()})
        if number in TORN:
            value = value[:20]
        producer.produce(topic, value, key=card, partition=number % 2)
    assert producer.flush(60) == 0


def run(given: dict[str, Any], failpoint: str | None = None) -> Ending:
    return ending(launch(DRIVER, json.dumps(given), failpoint), 300)


def panes(bootstrap: str, name: str, kinds: Sequence[str]) -> Panes:
    """Give what is committed, by output and key, in order."""
    outputs = [*kinds, *(f"{kind}-late" for kind in kinds if keeps_late(kind))]
    found: Panes = {output: defaultdict(list) for output in outputs}
    topics = [f"{name}-{output}" for output in outputs]
    for message in committed(bootstrap, topics, name):
        output = topic_of(message).removeprefix(f"{name}-")
        found[output][key_of(message)].append(json.loads(value_of(message)))
    return found


def dead_letters(bootstrap: str, name: str) -> list[tuple[int, int]]:
    """Give where the inputs were that could not be read: partition and offset."""
    found = []
    for message in committed(bootstrap, [f"{name}.dead-letters"], name):
        told: dict[str, Any] = dict(message.headers() or ())
        partition, offset = (
            int(told[f"headrace.origin.{name}"]) for name in ("partition", "offset")
        )
        found.append((partition, offset))
    return sorted(found)


@dataclass(frozen=True)
class Runs:
    """What a run that nothing disturbed has written, and one that was killed."""

    bootstrap: str
    kinds: Sequence[str]

    def make(self, home: Path, failpoints: Sequence[str]) -> None:
        topic = f"{self.kinds[0]}-in"
        write_payments(self.bootstrap, topic)
        given = {"bootstrap": self.bootstrap, "topic": topic, "per_batch": 500}
        calm, killed = (
            given | {"name": name, "kinds": self.kinds, "checkpoint": str(home / name)}
            for name in self.names
        )
        undisturbed = run(calm)
        assert undisturbed.status == 0, undisturbed.log
        for failpoint in failpoints:
            fallen = run(killed, failpoint)
            assert fallen.was_killed, f"{failpoint}: {fallen.log}"
        last = run(killed)
        assert last.status == 0, last.log

    @property
    def names(self) -> tuple[str, str]:
        return f"{self.kinds[0]}-calm", f"{self.kinds[0]}-killed"

    def panes(self) -> tuple[Panes, Panes]:
        calm, killed = self.names
        return (
            panes(self.bootstrap, calm, self.kinds),
            panes(self.bootstrap, killed, self.kinds),
        )


def test_each_kind_of_window_gives_the_same_panes_though_the_driver_dies(
    bootstrap: str, tmp_path: Path
) -> None:
    runs = Runs(bootstrap, list(KINDS))
    runs.make(tmp_path, ["rows-flushed:2", "committed:3", "after-spark-commit:1"])

    wanted, found = runs.panes()
    for output in wanted:
        assert found[output] == wanted[output], output
    assert all(wanted[kind] for kind in KINDS)
    assert wanted["tumbling-late"]
    assert any(
        pane["pane"] == "late" for rows in wanted["tumbling"].values() for pane in rows
    )


def test_sparks_own_windows_give_panes_and_dead_letters_once_though_the_driver_dies(
    bootstrap: str, tmp_path: Path
) -> None:
    runs = Runs(bootstrap, list(NATIVE))
    runs.make(tmp_path, ["tasks-running:1", "rows-flushed:2", "committed:3"])

    wanted, found = runs.panes()
    for output in wanted:
        assert wanted[output]
        assert found[output] == wanted[output], output
    torn = sorted((number % 2, number // 2) for number in TORN)
    for name in runs.names:
        assert dead_letters(bootstrap, name) == torn
