"""How long changes take from their commit to the log, hop by hop."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.cdc.place import Capture
from headrace.cdc.topics import LogRecord, ends_of, records_of
from headrace.errors import CaptureError


@dataclass(frozen=True)
class HopLag:
    """What a hop took, in milliseconds, for half, most and nearly all changes."""

    hop: str
    changes: int
    p50: float
    p95: float
    p99: float
    most: float


def lag_of(capture: Capture, table: str, count: int = 1000) -> list[HopLag]:
    """Measure the last changes of a table, from commit over capture to the log.

    The clocks of the database, of Connect and of the broker are compared, so hops
    between machines are as exact as those agree. Rows of snapshots do not count.

    Raises:
        CaptureError: [capture-topic-empty] there is no change yet;
            [capture-log-unreadable].
    """
    topic = capture.topic(table)
    begin = {
        n: max(0, end - count * 2) for n, end in ends_of(capture.kafka, topic).items()
    }
    records = records_of(capture.kafka, topic, begin)
    hops = deque(filter(None, map(_hops, records)), maxlen=count)
    if not hops:
        raise CaptureError(
            "capture-topic-empty",
            f'topic "{topic}" holds no change of table {table} yet',
            detail="rows of a snapshot have waited in the table for unknown times.",
            hint="wait for a change, then ask again.",
        )
    names = ("commit to capture", "capture to log", "commit to log")
    return [
        hop_lag(name, [change[place] for change in hops])
        for place, name in enumerate(names)
    ]


def _hops(record: LogRecord) -> tuple[float, float, float] | None:
    if record.value is None:
        return None
    change: dict[str, Any] = json.loads(record.value)
    source = change.get("source", {})
    if change.get("op") == "r" or source.get("snapshot") not in {"false", None}:
        return None
    committed, captured = source["ts_us"] / 1000, change["ts_us"] / 1000
    return captured - committed, record.time - captured, record.time - committed


def hop_lag(hop: str, milliseconds: Iterable[float]) -> HopLag:
    """Add up what a hop took.

    Example:
        >>> hop_lag("commit to log", range(1, 101))
        HopLag(hop='commit to log', changes=100, p50=50, p95=95, p99=99, most=100)
    """
    ordered = sorted(milliseconds)
    return HopLag(
        hop,
        len(ordered),
        _percentile(ordered, 50),
        _percentile(ordered, 95),
        _percentile(ordered, 99),
        ordered[-1],
    )


def _percentile(ordered: Sequence[float], percent: int) -> float:
    """Give the value that so many percent of the values do not exceed."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
