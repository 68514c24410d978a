"""Each symptom of a runbook, brought about on real servers, and named by the product.

One pipeline runs for all tests. The storage of its checkpoint is slow at first, which
holds its first batch; what that leads to is seen before the fixture is there.
"""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import pytest

from headrace.errors import SchemaError
from headrace.schema.registry import Registry
from headrace.services import Stack
from support.harness.log_use import command, new_name
from support.harness.waiting import wait_until
from support.harness.watched_run import WatchedRun

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def run(stack: Stack) -> Iterator[WatchedRun]:
    """Give a run that has been held, has fallen behind, and goes on."""
    with tempfile.TemporaryDirectory() as home:
        watched = WatchedRun(stack, Path(home))
        watched.pay(0, at=0, partition=1)
        watched.pay(*range(1, 10), at=0)
        with watched:
            wait_until("the storage is slow", watched.holding.exists, seconds=180)
            watched.await_line("alert batch-stalled (critical)")
            assert watched.ask("/health")[0] == 503
            numbers = count(1000)

            def pay_more() -> None:
                watched.pay(*islice(numbers, 2), at=110)

            watched.await_line("alert lag-growing (warning)", pay_more)
            watched.await_metric(
                "headrace_lag_records", watched.paid - 1, partition="0"
            )
            watched.holding.unlink()
            yield watched


def page(line: str) -> str:
    """Give the runbook that a line names."""
    name = line.rpartition("; see ")[2]
    return (ROOT / name).read_text()


def looked(stack: Stack, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(stack, "ops", *arguments, "--format", "json"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_lag_that_grows_is_named(run: WatchedRun) -> None:
    line = run.await_line("alert lag-growing (warning)")

    assert page(line).startswith("# Lag growing")
    run.await_line("alert batch-stalled is over")
    wait_until(
        "nothing is left to read",
        lambda: run.metric("headrace_lag_records", partition="0") == 0,
        seconds=60,
    )


def test_a_checkpoint_that_takes_long_is_named(run: WatchedRun) -> None:
    line = run.await_line("alert checkpoint-slow (warning)")

    assert page(line).startswith("# Checkpoint slow")
    slow = wait_until("a batch is told", run.batches, seconds=60)[0]
    assert slow["phases_ms"]["walCommit"] > 1000
    assert "checkpoint-slow" in slow["alerts"]


def test_a_watermark_that_a_silent_partition_holds_is_named(run: WatchedRun) -> None:
    run.await_metric("headrace_watermark_timestamp_seconds", 1)
    run.pay(200, at=120)

    line = run.await_line("alert watermark-stalled (warning)")

    assert page(line).startswith("# Watermark stalled")
    held = run.metric("headrace_watermark_timestamp_seconds")
    assert held == run.start.timestamp() - 1


def test_events_that_come_out_of_order_are_named(run: WatchedRun, stack: Stack) -> None:
    # The partition that was silent lets time go on, and then old events come.
    run.pay(299, at=120)
    run.pay(300, at=130, partition=1)
    run.await_metric("headrace_watermark_timestamp_seconds", run.start.timestamp() + 60)
    run.pay(*range(301, 311), at=1)

    line = run.await_line("alert late-events (warning)")

    assert "10 rows came late" in line
    assert page(line).startswith("# Out-of-order results")
    assert run.metric("headrace_step_late_events_total", step="counts") == 10
    done = looked(stack, "order", f"{run.name}-in", "--by", "card", "--time", "at")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["scattered"], found["behind_in_id"]) == (1, 10)
    assert found["furthest_ms"] == 119_000


def test_an_input_of_another_schema_is_named(run: WatchedRun, stack: Stack) -> None:
    run.pay(400, at=140, cents=None, amount="5.00")

    line = run.await_line("alert dead-letters (warning)")

    assert page(line).startswith("# Schema change")
    listed = subprocess.run(
        command(stack, "dead-letters", "list", run.name, "--format", "json"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    (letter,) = json.loads(listed.stdout)
    assert letter["reason"] == "field-missing"
    assert f"`{letter['reason']}`" in page(line)


def test_a_schema_that_does_not_follow_the_last_is_refused_by_name(
    stack: Stack,
) -> None:
    def schema(kind: str) -> str:
        field = {"name": "cents", "type": kind}
        return json.dumps({"type": "record", "name": "Payment", "fields": [field]})

    registry, subject = Registry(stack.address("registry")), new_name("payments")
    registry.register(f"{subject}-value", "avro", schema("long"))

    with pytest.raises(SchemaError) as caught:
        registry.register(f"{subject}-value", "avro", schema("string"))

    runbook = (ROOT / "docs" / "runbooks" / "schema-change.md").read_text()
    assert f"(../errors/{caught.value.slug}.md)" in runbook


def test_an_id_that_comes_twice_is_named(run: WatchedRun, stack: Stack) -> None:
    copies = f"{run.name}-copies"
    assert looked(stack, "duplicates", copies, "--by", "number").returncode == 0
    run.pay(500, 500, at=150)

    line = run.await_line("alert duplicates-downstream (critical)")

    assert page(line).startswith("# Duplicates")
    done = looked(stack, "duplicates", copies, "--by", "number")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["repeated"], found["surplus"]) == (1, 1)
    assert list(found["examples"]) == ["500"]


def test_a_run_that_is_watched_ends_as_any_other(run: WatchedRun) -> None:
    run.process.send_signal(signal.SIGTERM)

    assert run.process.wait(120) == 0, run.said()
    reached = run.batches()[-1]["offsets"][f"{run.name}-in"]
    assert sum(reached.values()) == run.paid
