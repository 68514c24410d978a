from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.runtime.failures import name_failure
from headrace.runtime.progress import batches_after

PAYMENTS = "KafkaV2[Subscribe[payments]]"


def batch(number: int, **more: Any) -> dict[str, Any]:
    told = {
        "batchId": number,
        "numInputRows": 10,
        "durationMs": {"addBatch": 40, "triggerExecution": 90},
        "sources": [
            {
                "description": PAYMENTS,
                "numInputRows": 10,
                "endOffset": {"payments": {"0": 6, "1": 4}},
                "latestOffset": {"payments": {"0": 9, "1": 4}},
            }
        ],
    }
    return told | more


def delivering(*batches: dict[str, Any]) -> Any:
    report = {"rows": {"large": 3}, "dead_letters": 1, "last_phases_ms": {"commit": 5}}

    def told_after(last: int) -> list[dict[str, Any]]:
        return [told for told in batches if told["batchId"] > last]

    return SimpleNamespace(batches=told_after, report=lambda: report)


def test_a_batch_tells_its_lag_behind_the_end_of_the_log() -> None:
    (told,) = batches_after(delivering(batch(0)), -1)

    assert told.lag == 3
    assert told.offsets == {"payments": {"0": 6, "1": 4}}
    assert told.events_per_second == 111.1


def test_a_batch_tells_what_was_delivered_and_how_long_it_took() -> None:
    (told,) = batches_after(delivering(batch(0)), -1)

    assert told.sent == {"large": 3}
    assert told.dead_letters == 1
    assert told.phases_ms == {"addBatch": 40, "triggerExecution": 90, "commit": 5}


def test_a_pause_before_a_batch_is_no_part_of_what_it_took() -> None:
    took = {"addBatch": 40, "latestOffset": 105, "triggerExecution": 190}
    source = batch(0)["sources"][0] | {"metrics": {"pauseMs": "100"}}
    paused = batch(0, durationMs=took, sources=[source])

    (told,) = batches_after(delivering(paused), -1)

    assert told.phases_ms == {
        "addBatch": 40,
        "latestOffset": 5,
        "triggerExecution": 90,
        "pause": 100,
        "commit": 5,
    }
    assert told.events_per_second == round(told.events_in / 0.09, 1)


def test_a_batch_is_told_once() -> None:
    told = list(batches_after(delivering(batch(0), batch(1)), 0))

    assert [progress.batch for progress in told] == [1]


def test_what_was_delivered_is_asked_only_when_a_batch_has_ended() -> None:
    query = delivering(batch(0))
    query.report = lambda: pytest.fail("asked for nothing")

    assert list(batches_after(query, 0)) == []


def test_what_a_dedupe_step_dropped_is_told_under_its_name() -> None:
    metrics = {
        "dedupe.once.in": {"in": 10},
        "dedupe.once.out": {"out": 7, "duplicates": 3, "dead_letters": 0},
    }

    (told,) = batches_after(delivering(batch(0, observedMetrics=metrics)), -1)

    assert told.duplicates == {"once": 3}


CLOCK = {
    "description": "clock of payments",
    "numInputRows": 1,
    "endOffset": {"clock": "payments", "watermark": 1, "delay": 2500},
    "latestOffset": None,
}


def test_a_clock_beside_the_topics_is_no_place_and_its_ticks_are_no_events() -> None:
    sources = batch(0)["sources"]

    (told,) = batches_after(delivering(batch(0, sources=[*sources, CLOCK])), -1)

    assert told.events_in == 10
    assert told.lag == 3
    assert told.offsets == {"payments": {"0": 6, "1": 4}}
    assert told.delays == {"payments": 2.5}


def test_a_batch_tells_how_far_its_watermark_is_behind_the_wall_clock() -> None:
    times = {
        "timestamp": "2026-03-01T10:00:10.500Z",
        "eventTime": {"watermark": "2026-03-01T10:00:00.000Z"},
    }
    none_yet = times | {"eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}

    first, second = batches_after(
        delivering(batch(0, **none_yet), batch(1, **times)), -1
    )

    assert (first.watermark, first.watermark_lag) == (None, None)
    assert second.watermark == "2026-03-01T10:00:00.000Z"
    assert second.watermark_lag == 10.5


def test_a_batch_tells_the_newest_event_that_its_clocks_have_seen() -> None:
    watermark = {"watermark": "2026-03-01T10:00:00.000Z"}
    times = {"timestamp": "2026-03-01T10:00:10.500Z", "eventTime": watermark}
    seen = {"partitions": "0:1772359203000000:7 1::8 2:1772359201000000:9"}
    clock = CLOCK | {"endOffset": {"clock": "payments", "delay": 0} | seen}
    by_spark = watermark | {"max": "2026-03-01T10:00:02.000Z"}

    first, second, third = batches_after(
        delivering(
            batch(0, sources=[clock]),
            batch(1, sources=[clock], **times),
            batch(2, **(times | {"eventTime": by_spark})),
        ),
        -1,
    )

    assert first.newest_event is None
    assert second.newest_event == "2026-03-01T10:00:03.000Z"
    assert third.newest_event == "2026-03-01T10:00:02.000Z"


def test_state_is_told_under_the_steps_names_or_not_at_all() -> None:
    operators = [
        {
            "numRowsTotal": rows,
            "memoryUsedBytes": 10 * rows,
            "commitTimeMs": 40 * rows,
            "numShufflePartitions": 4,
            "customMetrics": {
                "rocksdbSstFileSize": 7,
                "rocksdbNumInternalColFamiliesKeys": 4 * rows,
            },
        }
        for rows in (1, 2, 3)
    ]
    query = delivering(batch(0, stateOperators=operators))

    (told,) = batches_after(query, -1, ["once", "counts", "once"])
    (unknown,) = batches_after(query, -1, ["once"])

    assert told.state == {
        "once": {"rows": 4, "timers": 8, "memory_bytes": 40, "disk_bytes": 14}
        | {"commit_ms": 40},
        "counts": {"rows": 2, "timers": 4, "memory_bytes": 20, "disk_bytes": 7}
        | {"commit_ms": 20},
    }
    assert unknown.state == {}


def test_what_a_window_step_did_is_told_under_its_name() -> None:
    metrics = {"window.velocity": {"panes": 2, "in": 5, "on_time": 4, "late": 1}}

    (told,) = batches_after(delivering(batch(0, observedMetrics=metrics)), -1)

    assert told.windows == {"velocity": {"panes": 2, "in": 5, "on_time": 4, "late": 1}}
    assert told.duplicates == {}


def test_a_failed_batch_names_the_innermost_cause() -> None:
    text = (
        "[STREAM_FAILED] Query [id = 1] terminated with exception: Job aborted\n"
        "Caused by: org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] "
        "Division by zero. SQLSTATE: 22012\n\tat x.y.Z"
    )

    named = name_failure(text, "fraud")

    assert named.slug == "batch-failed"
    assert named.detail == "[DIVIDE_BY_ZERO] Division by zero."


def test_what_a_function_has_raised_is_named_with_its_place() -> None:
    text = (
        "[STREAM_FAILED] Query terminated with exception: [PYTHON_EXCEPTION] An "
        "exception was thrown from the Python worker: Traceback (most recent call "
        'last):\n  File "/home/ann/pay.py", line 13, in fee\n'
        "    return 1 / cents\n           ~~^~~~~~~\n"
        "ZeroDivisionError: division by zero\n SQLSTATE: 38000\n\tat x.y.Z"
    )

    named = name_failure(text, "fraud")

    assert named.slug == "batch-failed"
    expected = "ZeroDivisionError: division by zero, raised by fee at pay.py:13"
    assert named.detail == expected


def test_events_that_retention_took_are_named_as_lost() -> None:
    text = "terminated with exception: [KAFKA_DATA_LOSS.X] Some data may have been lost"

    assert name_failure(text, "fraud").slug == "data-lost"


@pytest.mark.parametrize(
    "told",
    [
        "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match.",
        "[STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA] Streaming stateful "
        "operator name does not match with the operator in state metadata.",
    ],
)
def test_state_of_another_form_is_named(told: str) -> None:
    text = f"terminated with exception: {told}"

    assert name_failure(text, "fraud").slug == "state-differs"


USERS = "bank.public.users"
PASSAGE = {
    "changes": 200,
    "committed_ms": [9_400, 9_100, 9_000],
    "logged_ms": [9_500, 9_300, 9_200],
}


def propagated(**more: Any) -> dict[str, Any]:
    """Give what a batch tells of the way to its sinks."""
    query = delivering(batch(0, observedMetrics={f"passage.{USERS}#1": PASSAGE | more}))
    told = query.report() | {"done_at_ms": {"0": {"cache": 10_000, "other": 11_000}}}
    query.report = lambda: told
    (progress,) = batches_after(query, -1, readers={USERS: ["cache", "search"]})
    return progress.propagation


def test_a_batch_tells_how_long_changes_took_to_each_sink_that_has_them() -> None:
    # "search" had the batch before, so it is not known when.
    assert propagated() == {
        USERS: {
            "cache": {
                "changes": 200,
                "commit_p50": 600,
                "commit_p95": 900,
                "commit_p99": 1000,
                "log_p50": 500,
                "log_p95": 700,
                "log_p99": 800,
            }
        }
    }


def test_rows_of_a_snapshot_alone_tell_nothing_of_the_way() -> None:
    assert propagated(changes=0, committed_ms=None, logged_ms=None) == {}
