"""Whatever phase a driver dies in, every event comes out once and in order."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from support.harness.numbered_events import CommittedReader
from support.harness.rig import PHASES, Job, watched
from support.harness.warm import Drivers


def faults(job: Job, reader: CommittedReader) -> list[str]:
    every, tenth = (reader.accounts[topic] for topic in job.outputs)
    return every.faults(job.sent) + tenth.faults(job.sent, every=10)


def test_each_event_comes_once_and_in_order_though_the_driver_dies_in_every_phase(
    new_job: Callable[..., Job],
) -> None:
    job = new_job(per_batch=250)
    job.feed(8000)
    reader = job.reader()

    # The second time a phase is reached, a lane is on its short way; the phases of the
    # long way come once after each start.
    for phase in PHASES:
        times = 1 if phase in {"lane-fenced", "ledger-read"} else 2
        ending = watched(job.start(f"{phase}:{times}"), reader)
        assert ending.was_killed, f"{phase}: {ending.log}"

    last = watched(job.start(), reader)
    assert last.status == 0, last.log
    reader.close()
    assert not faults(job, reader)


@pytest.mark.parametrize("phase", ["commit-in-doubt", "committed"])
def test_several_lanes_finish_a_batch_that_some_of_them_hold(
    new_job: Callable[..., Job], drivers: Drivers, phase: str
) -> None:
    job = new_job(lanes=3, per_batch=1000)
    job.feed(3000)
    reader = job.reader()

    # Four commits: all lanes of the first batch, and one of the second.
    ending = drivers.run("driver", json.loads(job.given()), f"{phase}:4")
    assert ending.was_killed, ending.log
    reader.read(1.0)

    last = drivers.run("driver", json.loads(job.given()))
    assert last.status == 0, last.log
    while reader.read(1.0):
        pass
    reader.close()
    assert not faults(job, reader)
