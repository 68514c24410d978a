"""Progress: what each batch took in, gave out, and took of time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.delivery import Delivering


@dataclass(frozen=True)
class BatchProgress:
    """One batch, as a person or a program wants to know of it.

    Args:
        batch: The batch's number; it never repeats in a checkpoint.
        events_in: What was read.
        events_per_second: How fast it was worked through.
        lag: What the topics held beyond the batch's end when it began.
        phases_ms: The time of each phase, Spark's and the delivery's.
        offsets: Where the next batch begins: by topic and partition.
        sent: What each sink was given since the start, dead letters too.
        dead_letters: How many inputs could not be read since the start.
        duplicates: What each dedupe step dropped in this batch.
    """

    batch: int
    events_in: int
    events_per_second: float
    lag: int
    phases_ms: dict[str, int]
    offsets: dict[str, dict[str, int]]
    sent: dict[str, int]
    dead_letters: int
    duplicates: dict[str, int]


def batches_after(delivering: Delivering, last: int) -> Iterator[BatchProgress]:
    """Give the progress of the batches that ended after a given one."""
    report = delivering.report()
    for raw in delivering.query.recentProgress:
        told: dict[str, Any] = json.loads(raw.json)
        # Spark reports an idle trigger under the number of the batch to come.
        idle = "addBatch" not in told.get("durationMs", {})
        if told["batchId"] > last and not idle:
            yield _progress(told, report)


def _progress(told: dict[str, Any], report: dict[str, Any]) -> BatchProgress:
    offsets: dict[str, dict[str, int]] = {}
    lag = 0
    for source in told["sources"]:
        end, latest = _places(source["endOffset"]), _places(source["latestOffset"])
        offsets |= end
        lag += sum(
            offset - end.get(topic, {}).get(partition, 0)
            for topic, partitions in latest.items()
            for partition, offset in partitions.items()
        )
    # A dedupe step tells what goes in and what comes out: dedupe.<name>.out.
    duplicates = {
        name.removeprefix("dedupe.").removesuffix(".out"): int(metrics["duplicates"])
        for name, metrics in told.get("observedMetrics", {}).items()
        if "duplicates" in metrics
    }
    return BatchProgress(
        batch=told["batchId"],
        events_in=told["numInputRows"],
        events_per_second=round(told.get("processedRowsPerSecond", 0.0), 1),
        lag=max(0, lag),
        phases_ms=told["durationMs"] | report.get("last_phases_ms", {}),
        offsets=offsets,
        sent=report.get("rows", {}),
        dead_letters=report.get("dead_letters", 0),
        duplicates=duplicates,
    )


def _places(offsets: Any) -> dict[str, dict[str, int]]:
    """Read offsets as Spark writes them: JSON, or JSON inside a text."""
    found = json.loads(offsets) if isinstance(offsets, str) else offsets
    return found or {}
