"""Metrics of a run: what batches add, and how Prometheus gets it."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import ServiceError
from headrace.ops.alerts import Change
from headrace.ops.families import DEAD_LETTERS, FAMILIES, LAG, render
from headrace.ops.metrics import Metrics
from headrace.ops.monitor import Monitor
from headrace.ops.rules import RULES, tuned
from headrace.ops.serving import MetricsServer
from headrace.ops.starts import count_start
from headrace.runtime.progress import BatchProgress
from headrace.serving import served

_PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
_LINE = re.compile(r"([a-z_]+)(?:\{([^{}]*)\})? (-?[0-9.e+-]+)")


class Clock:
    """A clock that is set by hand."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def progress(batch: int, **more: Any) -> BatchProgress:
    told: dict[str, Any] = {
        "batch": batch,
        "events_in": 10,
        "events_per_second": 5.0,
        "lag": 0,
        "phases_ms": {"triggerExecution": 900, "addBatch": 700, "queryPlanning": 50}
        | {"walCommit": 40, "commitOffsets": 60, "commit": 30.5, "search.commit": 80},
        "offsets": {"payments": {"0": 10}},
        "sent": {"alerts": 4, "dead-letters": 1},
        "dead_letters": 1,
        "held": {"alerts": 1},
        "duplicates": {"once": 2},
        "watermark": "2026-03-01T10:00:00.000Z",
        "watermark_lag": 20.0,
        "newest_event": "2026-03-01T10:00:10.500Z",
        "delays": {},
        "windows": {"recent": {"in": 10, "late": 3}},
        "tables": {},
        "joins": {"profile": {"in": 10, "late": 1}},
        "captured": {},
        "propagation": {},
        "state": {
            "once": {"rows": 7, "timers": 7, "memory_bytes": 2048, "disk_bytes": 512}
            | {"commit_ms": 250}
        },
    }
    return BatchProgress(**told | more)


def samples(text: str) -> dict[str, float]:
    """Read the text format as Prometheus does: each line a sample, or a comment."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            read = _LINE.fullmatch(line)
            assert read, line
            labels = (read[2] or "").removeprefix('pipeline="fraud"').lstrip(",")
            found[read[1] + (f"{{{labels}}}" if labels else "")] = float(read[3])
    return found


@pytest.fixture
def clock() -> Clock:
    # Twenty seconds after the watermark of the batches.
    return Clock(1_772_359_220.0)


def test_batches_add_up_to_metrics(clock: Clock) -> None:
    metrics = Metrics("fraud", restarts=2, clock=clock)
    metrics.add(progress(0))
    metrics.add(progress(1, sent={"alerts": 9}, dead_letters=5))
    clock.now += 30

    found = samples(metrics.text())

    assert found["headrace_events_in_total"] == 20
    assert found['headrace_events_out_total{output="alerts"}'] == 9
    assert found["headrace_dead_letters_total"] == 5
    assert found["headrace_late_events_total"] == 8
    assert found['headrace_step_late_events_total{step="recent"}'] == 6
    assert found['headrace_duplicates_dropped_total{step="once"}'] == 4
    assert found['headrace_held_batches_total{output="alerts"}'] == 1
    assert found["headrace_batches_total"] == 2
    assert found["headrace_batch_seconds_total"] == 1.8
    assert found["headrace_last_batch_seconds"] == 0.9
    assert found['headrace_last_batch_phase_seconds{phase="addBatch"}'] == 0.7
    assert found["headrace_last_batch_age_seconds"] == 30
    assert found["headrace_restarts_total"] == 2
    assert found["headrace_start_time_seconds"] == 1_772_359_220
    assert found['headrace_state_rows{step="once"}'] == 7
    assert found['headrace_state_disk_bytes{step="once"}'] == 512


def test_a_watermark_is_told_with_its_distance_to_the_clock_and_to_the_events(
    clock: Clock,
) -> None:
    metrics = Metrics("fraud", clock=clock)
    assert "watermark" not in metrics.text()

    metrics.add(progress(0))

    found = samples(metrics.text())
    assert found["headrace_watermark_timestamp_seconds"] == 1_772_359_200
    assert found["headrace_watermark_behind_clock_seconds"] == 20
    assert found["headrace_watermark_behind_events_seconds"] == 10.5


def test_a_checkpoint_has_three_parts(clock: Clock) -> None:
    metrics = Metrics("fraud", clock=clock)
    metrics.add(progress(0))

    found = samples(metrics.text())
    assert found['headrace_checkpoint_seconds{part="offsets"}'] == 0.1
    assert found['headrace_checkpoint_seconds{part="state"}'] == 0.25
    assert found['headrace_checkpoint_seconds{part="sinks"}'] == 0.08


def test_the_phases_of_the_last_batch_are_its_own(clock: Clock) -> None:
    metrics = Metrics("fraud", clock=clock)
    metrics.add(progress(0, phases_ms={"fence": 500, "triggerExecution": 800}))
    metrics.add(progress(1, phases_ms={"rows": 20, "triggerExecution": 100}))

    found = samples(metrics.text())
    assert found['headrace_last_batch_phase_seconds{phase="rows"}'] == 0.02
    assert 'headrace_last_batch_phase_seconds{phase="fence"}' not in found
    assert found['headrace_batch_phase_seconds_total{phase="fence"}'] == 0.5


def test_labels_are_escaped() -> None:
    labels = (("topic", 'a"b\\c\nd'),)

    text = render({LAG: {labels: 1.5}}, {"pipeline": "p"})

    assert text.splitlines()[-1] == (
        'headrace_lag_records{pipeline="p",topic="a\\"b\\\\c\\nd"} 1.5'
    )


def test_names_follow_the_conventions_and_are_documented() -> None:
    page = _PAGE.read_text()

    for family in FAMILIES:
        assert family.name.startswith("headrace_")
        assert family.name.endswith("_total") == (family.kind == "counter")
        assert f"| `{family.name}` |" in page, family.name
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


@pytest.fixture
def told() -> list[Change]:
    return []


@pytest.fixture
def monitor(clock: Clock, told: list[Change]) -> Monitor:
    rules = tuned(RULES, [("batch-stalled.limit", "30"), ("batch-stalled.keep", "0s")])
    metrics = Metrics("fraud", clock=clock)
    return Monitor(metrics, told.append, rules=rules, clock=clock)


@pytest.fixture
def server(monitor: Monitor) -> Iterator[MetricsServer]:
    with served(MetricsServer(monitor.metrics.text, monitor.health)) as server:
        yield server


def get(url: str, **headers: str) -> tuple[int, str, str]:
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


def test_metrics_are_served_as_text_on_loopback(
    monitor: Monitor, server: MetricsServer
) -> None:
    monitor.add(progress(0))
    monitor.tell_lag({"payments": {0: 4, 1: 0}})

    status, kind, text = get(f"{server.url}/metrics")

    assert server.url.startswith("http://127.0.0.1:")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    found = samples(text)
    assert found['headrace_lag_records{partition="0",topic="payments"}'] == 4
    assert found['headrace_alert_firing{alert="dead-letters",severity="warning"}'] == 1
    assert found['headrace_alert_firing{alert="lag-growing",severity="warning"}'] == 0


def test_health_is_503_while_a_critical_alert_is_on(
    monitor: Monitor, server: MetricsServer, clock: Clock, told: list[Change]
) -> None:
    monitor.tell_lag({"payments": {0: 4}})
    clock.now += 31
    monitor.look()
    status, _, text = get(f"{server.url}/health")
    assert status == 503
    assert json.loads(text)["alerts"] == [
        {
            "alert": "batch-stalled",
            "severity": "critical",
            "runbook": "docs/runbooks/lag-growing.md",
        }
    ]

    monitor.add(progress(0, dead_letters=0, windows={}, joins={}))

    assert get(f"{server.url}/health")[0] == 200
    assert [(c.rule.name, c.began) for c in told] == [
        ("batch-stalled", True),
        ("batch-stalled", False),
    ]


def test_a_monitor_that_is_asked_all_the_time_samples_once_a_second(
    monitor: Monitor, clock: Clock, told: list[Change]
) -> None:
    monitor.metrics.put(DEAD_LETTERS, 1)
    monitor.look()
    assert not told

    clock.now += 1
    monitor.look()
    assert [change.rule.name for change in told] == ["dead-letters"]


def test_what_is_not_meant_for_us_is_refused(server: MetricsServer) -> None:
    assert get(f"{server.url}/metrics", Host="attacker.example")[0] == 400
    assert get(f"{server.url}/other")[0] == 404


def test_a_port_that_is_taken_is_named(monitor: Monitor, server: MetricsServer) -> None:
    with pytest.raises(ServiceError) as caught:
        MetricsServer(
            monitor.metrics.text, monitor.health, port=server.server_address[1]
        )

    assert caught.value.slug == "port-taken"


def test_starts_are_counted_for_each_checkpoint(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoints" / "fraud"
    place = str(checkpoint)
    assert [count_start(place) for _ in range(2)] == [0, 0], "there is none yet"

    checkpoint.mkdir()

    assert [count_start(place), count_start(f"file:{place}")] == [1, 2]
    checkpoint.with_name("fraud.starts").write_text("{")
    assert [count_start(place) for _ in range(2)] == [0, 1]
    assert count_start("hdfs://nn-1/fraud") == 0
