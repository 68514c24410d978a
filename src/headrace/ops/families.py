"""The metrics' names, and what each says; `docs/operations.md` lists them too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Family:
    """A metric: its name, whether it only grows, and what it says.

    Args:
        name: By Prometheus' conventions: with its unit, counters end in ``_total``.
        kind: ``counter`` or ``gauge``.
        says: What it is, in a sentence.
    """

    name: str
    kind: str
    says: str


def _counter(name: str, says: str) -> Family:
    return Family(f"headrace_{name}_total", "counter", says)


def _gauge(name: str, says: str) -> Family:
    return Family(f"headrace_{name}", "gauge", says)


EVENTS_IN = _counter("events_in", "Events that were read, each once.")
EVENTS_OUT = _counter("events_out", "Rows that each output was given.")
LATE_EVENTS = _counter("late_events", "Rows that came late to a window or a join.")
STEP_LATE_EVENTS = _counter("step_late_events", "The same by step.")
DEAD_LETTERS = _counter("dead_letters", "Inputs that could not be read.")
DROPPED = _counter("duplicates_dropped", "Events that a dedupe step has dropped.")
DOWNSTREAM = _counter(
    "downstream_duplicates", "Records of an output topic whose id was there before."
)
HELD = _counter("held_batches", "Repeated batches that an output held already.")
BATCHES = _counter("batches", "Batches that were committed.")
BATCH_SECONDS = _counter("batch_seconds", "The time that batches took.")
PHASE_SECONDS = _counter("batch_phase_seconds", "The same by phase.")
RESTARTS = _counter("restarts", "Starts on this checkpoint after the first.")

STARTED_AT = _gauge("start_time_seconds", "When this run began, since 1970.")
LAST_BATCH = _gauge("last_batch_seconds", "The time that the last batch took.")
LAST_PHASE = _gauge("last_batch_phase_seconds", "The same by phase.")
BATCH_AGE = _gauge("last_batch_age_seconds", "How long ago the last batch ended.")
LAG = _gauge("lag_records", "Records of a partition that no batch has finished.")
WATERMARK = _gauge("watermark_timestamp_seconds", "The watermark, since 1970.")
NEWEST = _gauge("newest_event_timestamp_seconds", "The largest event time, since 1970.")
BEHIND_CLOCK = _gauge(
    "watermark_behind_clock_seconds", "How far the watermark is behind the wall clock."
)
BEHIND_EVENTS = _gauge(
    "watermark_behind_events_seconds", "How far it is behind the largest event time."
)
STATE_ROWS = _gauge("state_rows", "Rows that a step keeps.")
STATE_TIMERS = _gauge("state_timers", "Timers that a step has set.")
STATE_MEMORY = _gauge("state_memory_bytes", "Memory that a step's state takes.")
STATE_DISK = _gauge("state_disk_bytes", "Disk that a step's state takes.")
CHECKPOINT = _gauge(
    "checkpoint_seconds",
    "What the last batch took to be safe, by part: offsets, state and sinks.",
)
FIRING = _gauge("alert_firing", "1 while an alert is on, else 0.")

FAMILIES: tuple[Family, ...] = tuple(
    value for value in globals().copy().values() if isinstance(value, Family)
)


def render(
    values: Mapping[Family, Mapping[Labels, float]], common: Mapping[str, str]
) -> str:
    """Give metrics in Prometheus' text format, in the order of `FAMILIES`.

    Args:
        values: What is known, by the labels of each value.
        common: Labels that all of them have.

    Example:
        >>> print(render({BATCHES: {(): 3}}, {"pipeline": "fraud"}), end="")
        # HELP headrace_batches_total Batches that were committed.
        # TYPE headrace_batches_total counter
        headrace_batches_total{pipeline="fraud"} 3
    """
    lines = []
    for family in FAMILIES:
        known = values.get(family)
        if not known:
            continue
        lines.append(f"# HELP {family.name} {family.says}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        for labels, value in sorted(known.items()):
            text = _labels((*common.items(), *labels))
            lines.append(f"{family.name}{text} {_number(value)}")
    return "".join(f"{line}\n" for line in lines)


def _labels(pairs: Iterable[tuple[str, str]]) -> str:
    text = ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)
    return f"{{{text}}}" if text else ""


def _escaped(value: str) -> str:
    plain = value.replace("\\", "\\\\").replace('"', '\\"')
    return plain.replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
