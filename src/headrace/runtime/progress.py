"""Progress: what each batch took in, gave out, and took of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from headrace.runtime.propagation import propagation
from headrace.runtime.reach import Reach, places

if TYPE_CHECKING:
    from headrace.delivery import Delivering


@dataclass(frozen=True)
class BatchProgress:
    """One batch, as a person or a program wants to know of it.

    Args:
        batch: The batch's number; it never repeats in a checkpoint.
        events_in: How many records were read, each once, however often the pipeline
            reads their topic.
        events_per_second: How fast it was worked through.
        lag: What the topics held beyond the batch's end when it began, each record
            once.
        phases_ms: The time of each phase, Spark's and the delivery's; ``pause`` is
            the one before the batch, in which few events became some more.
        offsets: Where the next batch begins: by topic and partition.
        sent: What each sink was given since the start, dead letters too.
        dead_letters: How many inputs could not be read since the start.
        held: How many batches each sink held already since the start: those that were
            repeated after a crash, and written no second time.
        duplicates: What each dedupe step dropped in this batch.
        watermark: How far event time had come when the batch began, as ISO 8601;
            None where no step follows event time, or none has come yet.
        watermark_lag: By how many seconds the wall clock was ahead of it then.
        newest_event: The largest event time that had come then, as ISO 8601; of all
            sources, and None where the watermark is.
        delays: How many seconds each source's clock stays behind its events, as its
            strategy has chosen; without those that Spark decides by itself.
        windows: What each window step did in this batch: ``in``, which is ``on_time``,
            ``late`` and ``dead_letters`` together, and ``panes`` and ``retractions``.
        tables: What each table did in this batch: ``in``, which is ``applied``,
            ``outdated`` and ``dead_letters`` together, and its net changes:
            ``inserted``, ``updated`` and ``deleted``; of groups, which come from a
            table, ``dead_letters`` and the net changes alone.
        joins: What each join did in this batch: ``in``, which is ``matched``,
            ``unmatched``, ``late``, ``dead_letters`` and ``waiting`` together, the
            last being by how many more rows wait than before; and its ``results``.
            With a table ``missing`` stands for ``unmatched``, and where Spark's own
            join runs it ``on_time`` for ``matched``, ``unmatched`` and ``waiting``.
        captured: What came of each captured topic: ``records``, and the
            ``tombstones`` among them, which are skipped.
        propagation: How long the changes of each captured topic took to each output,
            in milliseconds; see `headrace.runtime.propagation`.
        state: How much each step keeps: rows, the timers that are set for them, the
            bytes of it in memory and on disk, and how many milliseconds a task took to
            commit it, on average.
    """

    batch: int
    events_in: int
    events_per_second: float
    lag: int
    phases_ms: dict[str, int]
    offsets: dict[str, dict[str, int]]
    sent: dict[str, int]
    dead_letters: int
    held: dict[str, int]
    duplicates: dict[str, int]
    watermark: str | None
    watermark_lag: float | None
    newest_event: str | None
    delays: dict[str, float]
    windows: dict[str, dict[str, int]]
    tables: dict[str, dict[str, int]]
    joins: dict[str, dict[str, int]]
    captured: dict[str, dict[str, int]]
    propagation: dict[str, dict[str, dict[str, int]]]
    state: dict[str, dict[str, int]]


def batches_after(
    delivering: Delivering,
    last: int,
    owners: Sequence[str] = (),
    readers: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[BatchProgress]:
    """Give the progress of the batches that ended after a given one.

    Args:
        delivering: The running query.
        last: The batch that was told last.
        owners: The steps whose state Spark's operators keep, in their order.
        readers: The outputs that the changes of each captured topic come to.
    """
    batches = delivering.batches(last)
    if not batches:
        return
    report = delivering.report()
    for told in batches:
        done_at = report.get("done_at_ms", {}).get(str(told["batchId"]), {})
        passed = propagation(told, done_at, readers or {})
        yield _progress(told, report, owners, passed)


def _progress(
    told: dict[str, Any],
    report: dict[str, Any],
    owners: Sequence[str],
    passed: dict[str, dict[str, dict[str, int]]],
) -> BatchProgress:
    delays: dict[str, float] = {}
    reach = Reach(report.get("read", {}).get(str(told["batchId"])))
    for source in told["sources"]:
        if source.get("description") == "waker":
            continue
        if not _is_clock(source):
            reach.add(source)
        elif end := places(source["endOffset"]):
            # Its rows are ticks and no events, its offset is no place in a topic.
            delays[end["clock"]] = end["delay"] / 1000
    phases = _phases(told)
    seconds = phases.get("triggerExecution", 0) / 1000
    watermark, behind = _watermark(told)
    dedupes = _metrics(told, "dedupe")
    return BatchProgress(
        batch=told["batchId"],
        events_in=reach.records,
        events_per_second=round(reach.records / seconds, 1) if seconds else 0.0,
        lag=reach.lag,
        phases_ms=phases | report.get("last_phases_ms", {}),
        offsets=reach.offsets,
        sent=report.get("rows", {}),
        dead_letters=report.get("dead_letters", 0),
        held=report.get("held_by_sink", {}),
        duplicates={
            name: counts["duplicates"]
            for name, counts in dedupes.items()
            if "duplicates" in counts
        },
        watermark=watermark,
        watermark_lag=behind,
        newest_event=None if watermark is None else _newest_event(told),
        delays=delays,
        windows=_metrics(told, "window"),
        tables=_metrics(told, "table") | _metrics(told, "group"),
        joins=_metrics(told, "join") | _metrics(told, "lookup"),
        captured=_metrics(told, "captured"),
        propagation=passed,
        state=_state(told.get("stateOperators", []), owners),
    )


def _phases(told: dict[str, Any]) -> dict[str, int]:
    """Give the time of each of Spark's phases, without the pause before the batch."""
    phases: dict[str, int] = dict(told["durationMs"])
    paused = sum(
        int((source.get("metrics") or {}).get("pauseMs", 0))
        for source in told["sources"]
    )
    if paused:
        # To Spark it is a part of asking the source what there is.
        for phase in ("latestOffset", "triggerExecution"):
            if phase in phases:
                phases[phase] = max(0, phases[phase] - paused)
        phases["pause"] = paused
    return phases


def _metrics(told: dict[str, Any], verb: str) -> dict[str, dict[str, int]]:
    """Give what the steps of a kind observed: <verb>.<name>, or .in and .out of it."""
    found: dict[str, dict[str, int]] = {}
    for metric, counts in told.get("observedMetrics", {}).items():
        kind, _, step = metric.partition(".")
        if kind == verb:
            name = step.removesuffix(".in").removesuffix(".out")
            numbers = {key: int(number) for key, number in counts.items()}
            found[name] = found.get(name, {}) | numbers
    return found


def _watermark(told: dict[str, Any]) -> tuple[str | None, float | None]:
    text = told.get("eventTime", {}).get("watermark")
    if text is None:
        return None, None
    reached = datetime.fromisoformat(text)
    if reached.timestamp() <= 0:
        return None, None
    began = datetime.fromisoformat(told["timestamp"])
    return text, round((began - reached).total_seconds(), 3)


def _newest_event(told: dict[str, Any]) -> str | None:
    """Give the largest event time: what the clocks have seen, or Spark itself."""
    clocks = [source for source in told["sources"] if _is_clock(source)]
    if not clocks:
        newest: str | None = told["eventTime"].get("max")
        return newest
    seen = [
        int(largest)
        for clock in clocks
        for partition in places(clock["endOffset"]).get("partitions", "").split()
        if (largest := partition.split(":")[1])
    ]
    if not seen:
        return None
    moment = datetime.fromtimestamp(max(seen) / 1_000_000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _state(
    operators: Sequence[dict[str, Any]], owners: Sequence[str]
) -> dict[str, dict[str, int]]:
    """Give the state of each step; nothing if it is not known whose it is."""
    found: dict[str, dict[str, int]] = {}
    if len(operators) != len(owners):
        return found
    for name, operator in zip(owners, operators, strict=True):
        custom = operator.get("customMetrics", {})
        tasks = operator.get("numShufflePartitions", 0) or 1
        sizes = {
            "rows": operator["numRowsTotal"],
            # Spark finds a timer by its key and by its time: two rows of its own.
            "timers": custom.get("rocksdbNumInternalColFamiliesKeys", 0) // 2,
            "memory_bytes": operator["memoryUsedBytes"],
            "disk_bytes": custom.get("rocksdbSstFileSize", 0),
            # Spark adds up the time of all tasks.
            "commit_ms": operator.get("commitTimeMs", 0) // tasks,
        }
        # Some steps are several of Spark's operators.
        before = found.get(name, dict.fromkeys(sizes, 0))
        found[name] = {key: before[key] + size for key, size in sizes.items()}
    return found


def _is_clock(source: dict[str, Any]) -> bool:
    return str(source.get("description", "")).startswith("clock of ")
