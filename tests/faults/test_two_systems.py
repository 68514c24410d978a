"""Whatever dies, a batch for Kafka and PostgreSQL ends right in both."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psycopg
import pytest

from headrace.services import Stack
from support.harness.copies import Copies
from support.harness.rig import ending, stopped_jvm
from support.harness.waiting import wait_until
from support.harness.warm import ColdDrivers, Drivers, WarmDrivers, held_at


@pytest.fixture
def copies(bootstrap: str, postgres: str, tmp_path: Path) -> Copies:
    return Copies(bootstrap, postgres, tmp_path / "checkpoint")


# Two tables reach each place of PostgreSQL in each batch.
DEATHS = {
    "before a row is written": (
        "after-offsets:2",
        "postgres.tasks-running:3",
        "postgres.lane-fenced:2",
        "postgres.ledger-read:3",
    ),
    "with rows under way": (
        "postgres.rows-copying:2",
        "postgres.rows-flushed:3",
        "postgres.record-sent:2",
        "postgres.commit-in-doubt:3",
    ),
    "with some sinks committed": (
        "postgres.committed:1",
        "postgres.committed:4",
        "committed:3",
        "before-spark-commit:2",
        "after-spark-commit:1",
    ),
}


@pytest.mark.parametrize("phases", DEATHS.values(), ids=DEATHS)
def test_both_end_right_though_the_driver_dies_again_and_again(
    copies: Copies, drivers: Drivers, phases: tuple[str, ...]
) -> None:
    copies.feed(3000)

    for failpoint in phases:
        fallen = copies.run(drivers, failpoint)
        assert fallen.was_killed, f"{failpoint}: {fallen.log}"
    last = copies.run(drivers)

    assert last.status == 0, last.log
    copies.require_right()


def test_each_batch_is_evaluated_once_for_all_sinks(
    copies: Copies, warm: WarmDrivers
) -> None:
    copies.lanes = 2
    copies.feed(500)

    told = copies.run(warm).told

    assert told["read"] == 500
    assert told["rows"] == {"log": 500, "latest": 500, "every": 500, "dead-letters": 0}
    copies.require_right()


@pytest.mark.parametrize("place", ["rows-copying", "record-sent"])
def test_a_server_that_is_killed_within_a_batch_heals_by_itself(
    copies: Copies, servers: Stack, warm: WarmDrivers, tmp_path: Path, place: str
) -> None:
    copies.feed(900, text="x" * 400)
    failpoint, held = f"postgres.{place}:3", tmp_path / "held"
    with held_at(warm, "two_systems", copies.given, failpoint, held) as go_on:
        pid = servers.site().process("postgres").pid
        assert pid
        os.kill(pid, signal.SIGKILL)
        servers.up(["postgres"])
        end = go_on()

    assert end.status == 0, end.log
    copies.require_right()


@pytest.mark.long
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
            lambda: looking.execute(waits).fetchone() is not None,
            seconds=120,
        )
    jvm.resume()
    ends = [ending(zombie, 300), ending(successor, 300)]

    slugs = {end.told.get("slug") for end in ends}
    assert slugs <= {None, "checkpoint-in-use", "writer-fenced"}, ends
    last = copies.run(ColdDrivers())
    assert last.status == 0, last.log
    copies.require_right()
