"""A crash within a warm JVM leaves what a process leaves that was killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headrace._spark.bridge import java_class
from support.harness.copies import Copies
from support.harness.payments import write_payments
from support.harness.remains import ends_of, files_of, ledger_of, offsets_of, rows_of
from support.harness.waiting import wait_until
from support.harness.warm import ColdDrivers, WarmDrivers, unused
from support.pipelines.windowed import keeps_late

KINDS = ["tumbling", "sliding", "sessions"]
OUTPUTS = [*KINDS, *(f"{kind}-late" for kind in KINDS if keeps_late(kind))]

# Each in the second batch, so that there is state, and a lane on its short way.
OFTEN = ["tasks-running:2", "rows-flushed:2", "before-spark-commit:2"]
SELDOM = ["before-offsets:2", "after-offsets:2", "record-sent:2", "committed:2"]
# In the first, as a lane is fenced once.
FIRST = ["lane-fenced:1", "ledger-read:1"]
PHASES = [*OFTEN, *(pytest.param(p, marks=pytest.mark.long) for p in SELDOM + FIRST)]


@pytest.fixture(scope="module")
def payments(bootstrap: str) -> str:
    topic = unused("remains")
    write_payments(bootstrap, topic)
    return topic


def remains(bootstrap: str, name: str, checkpoint: Path) -> dict[str, Any]:
    """Give all that lasts of a pipeline, by names that do not tell whose it is."""
    topics = {output: f"{name}-{output}" for output in OUTPUTS}
    rows, ends = (
        rows_of(bootstrap, topics.values()),
        ends_of(bootstrap, topics.values()),
    )
    return {
        "files": files_of(checkpoint),
        "offsets": offsets_of(checkpoint),
        "rows": {output: rows[topic] for output, topic in topics.items()},
        "ends": {output: ends[topic] for output, topic in topics.items()},
        "ledger": ledger_of(bootstrap, name),
    }


@pytest.mark.parametrize("failpoint", PHASES)
def test_a_crash_within_leaves_the_files_and_rows_of_a_killed_process(
    bootstrap: str, payments: str, warm: WarmDrivers, tmp_path: Path, failpoint: str
) -> None:
    left = []
    for drivers in (ColdDrivers(), warm):
        name = unused("remains")
        checkpoint = tmp_path / name
        given = {
            "bootstrap": bootstrap,
            "topic": payments,
            "per_batch": 500,
            "name": name,
            "kinds": KINDS,
            "checkpoint": str(checkpoint),
        }
        fallen = drivers.run("windowed", given, failpoint)
        assert fallen.was_killed, fallen.log
        left.append(remains(bootstrap, name, checkpoint))

    killed, crashed = left
    assert not killed["files"] - crashed["files"]
    assert not crashed["files"] - killed["files"]
    for what in killed:
        assert crashed[what] == killed[what], what
    assert any(name.startswith("state/") for name, _ in killed["files"])


def test_a_crash_within_lets_go_of_the_locks_that_a_killed_process_held(
    bootstrap: str, postgres: str, warm: WarmDrivers, tmp_path: Path
) -> None:
    left = []
    open_ones = (
        "select from pg_stat_activity where state = 'idle in transaction' "
        "and application_name like %s"
    )
    for drivers in (ColdDrivers(), warm):
        copies = Copies(bootstrap, postgres, tmp_path / unused("checkpoint"))
        copies.feed(900)
        fallen = copies.run(drivers, "postgres.record-sent:3")
        assert fallen.was_killed, fallen.log
        left.append(files_of(copies.checkpoint))
        with psycopg.connect(postgres, autocommit=True) as looking:
            name = [f"headrace.{copies.name}.%"]
            wait_until(
                "no transaction is open",
                lambda: looking.execute(open_ones, name).fetchone() is None,  # noqa: B023
            )
        assert copies.run(warm).status == 0
        copies.require_right()

    killed, crashed = left
    assert crashed == killed


def test_no_jvm_but_that_of_the_tests_crashes_within(spark: SparkSession) -> None:
    with pytest.raises(Py4JJavaError, match="HEADRACE_FAILPOINT"):
        java_class(spark, "delivery.Crash").arm(spark._jsparkSession, "committed:1")
