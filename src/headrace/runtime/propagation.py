"""Propagation: how long changes take from their commit in a database to each sink."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.plan.changes import captured_tables
from headrace.plan.steps import Output

_METRIC = "passage."
_PERCENTS = ("p50", "p95", "p99")


def readers(outputs: Sequence[Output]) -> dict[str, list[str]]:
    """Give for each captured topic the outputs that its changes come to."""
    found: dict[str, list[str]] = {}
    for output in outputs:
        for topic in sorted(table.topic for table in captured_tables(output.step)):
            found.setdefault(topic, []).append(output.name)
    return found


def propagation(
    told: Mapping[str, Any],
    done_at: Mapping[str, int],
    readers: Mapping[str, Sequence[str]],
) -> dict[str, dict[str, dict[str, int]]]:
    """Give what the changes of a batch took to each sink, in milliseconds.

    The database's clock, the broker's and the driver's are compared, so it is as exact
    as they agree. What a snapshot has read does not count, nor a sink that had the
    batch already.

    Args:
        told: The batch's progress, as Spark tells it.
        done_at: When each sink had the batch, in milliseconds since 1970.
        readers: The outputs that the changes of each topic come to.

    Returns:
        By topic and output: ``changes``, how many; ``commit_p50``, ``commit_p95`` and
        ``commit_p99``, the time since their commit; ``log_p50`` and so on, since the
        log had them.
    """
    found: dict[str, dict[str, dict[str, int]]] = {}
    for metric, passage in told.get("observedMetrics", {}).items():
        topic = metric.removeprefix(_METRIC).rpartition("#")[0]
        if not metric.startswith(_METRIC) or not passage.get("changes"):
            continue
        for output in readers.get(topic, ()):
            if output in done_at:
                found.setdefault(topic, {})[output] = _since(passage, done_at[output])
    return found


def _since(passage: Mapping[str, Any], done_at: int) -> dict[str, int]:
    took = {"changes": int(passage["changes"])}
    for name, moments in (
        ("commit", passage["committed_ms"]),
        ("log", passage["logged_ms"]),
    ):
        for percent, moment in zip(_PERCENTS, moments, strict=True):
            took[f"{name}_{percent}"] = done_at - int(moment)
    return took
