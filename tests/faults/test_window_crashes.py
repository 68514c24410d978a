"""A driver that is killed leaves no trace in the panes of any kind of window."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.harness.committed import committed
from support.harness.messages import key_of, topic_of, value_of
from support.harness.payments import TORN, write_payments
from support.harness.warm import Drivers, unused
from support.pipelines.windowed import KINDS, NATIVE, keeps_late

Panes = dict[str, dict[bytes, list[dict[str, Any]]]]


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
    drivers: Drivers
    kinds: Sequence[str]
    name: str

    def make(self, home: Path, failpoints: Sequence[str]) -> None:
        topic = f"{self.name}-in"
        write_payments(self.bootstrap, topic)
        given = {"bootstrap": self.bootstrap, "topic": topic, "per_batch": 500}
        calm, killed = (
            given | {"name": name, "kinds": self.kinds, "checkpoint": str(home / name)}
            for name in self.names
        )
        undisturbed = self.drivers.run("windowed", calm)
        assert undisturbed.status == 0, undisturbed.log
        for failpoint in failpoints:
            fallen = self.drivers.run("windowed", killed, failpoint)
            assert fallen.was_killed, f"{failpoint}: {fallen.log}"
        last = self.drivers.run("windowed", killed)
        assert last.status == 0, last.log

    @property
    def names(self) -> tuple[str, str]:
        return f"{self.name}-calm", f"{self.name}-killed"

    def panes(self) -> tuple[Panes, Panes]:
        calm, killed = self.names
        return (
            panes(self.bootstrap, calm, self.kinds),
            panes(self.bootstrap, killed, self.kinds),
        )


def test_each_kind_of_window_gives_the_same_panes_though_the_driver_dies(
    bootstrap: str, drivers: Drivers, tmp_path: Path
) -> None:
    runs = Runs(bootstrap, drivers, list(KINDS), unused("windows"))
    runs.make(tmp_path, ["rows-flushed:2", "after-spark-commit:1", "committed:1"])

    wanted, found = runs.panes()
    for output in wanted:
        assert found[output] == wanted[output], output
    assert all(wanted[kind] for kind in KINDS)
    assert wanted["tumbling-late"]
    assert any(
        pane["pane"] == "late" for rows in wanted["tumbling"].values() for pane in rows
    )


def test_sparks_own_windows_give_panes_and_dead_letters_once_though_the_driver_dies(
    bootstrap: str, drivers: Drivers, tmp_path: Path
) -> None:
    runs = Runs(bootstrap, drivers, list(NATIVE), unused("native"))
    runs.make(tmp_path, ["tasks-running:1", "rows-flushed:2", "committed:3"])

    wanted, found = runs.panes()
    for output in wanted:
        assert wanted[output]
        assert found[output] == wanted[output], output
    torn = sorted((number % 2, number // 2) for number in TORN)
    for name in runs.names:
        assert dead_letters(bootstrap, name) == torn
