"""What goes into the model of windows and what comes out of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Event:
    """An event of one key; times are microseconds since 1970.

    `begins` and `ends` are the window that assigned() puts it into.
    """

    at: int | None
    amount: int | None = None
    word: str | None = None
    partition: int = 0
    offset: int = 0
    topic: str = "t"
    begins: int | None = None
    ends: int | None = None


def order(event: Event) -> tuple[Any, ...]:
    """Say where an event stands among those of its key: first, if it has no time."""
    timed = event.at is not None
    return timed, event.at or 0, event.partition, event.offset, event.topic


def in_order(events: Iterable[Event]) -> list[Event]:
    return sorted(events, key=order)


@dataclass(frozen=True)
class Windowing:
    """A window step: its kind, when it fires and what it gives; in microseconds.

    `every` of 0 is `size`; `allowed` is the time of refire. `aggregates` and `having`
    are names of `window_model_aggregates`. Without `timed` the stream has no event
    time.
    """

    kind: str
    size: int = 0
    every: int = 0
    offset: int = 0
    gap: int = 0
    count: int = 0
    early_events: int | None = None
    early_time: int | None = None
    panes: str = "accumulating"
    late: str = "side-output"
    allowed: int = 0
    aggregates: tuple[str, ...] = ("count",)
    having: str | None = None
    timed: bool = True

    @property
    def fires_by_window(self) -> bool:
        """Whether windows are corrected one by one, a key's in no order."""
        plain = self.panes == "accumulating" and self.having is None
        early = self.early_events or self.early_time
        return self.kind == "tumbling" and bool(self.allowed) and plain and not early

    @property
    def clears_its_state(self) -> bool:
        """Whether nothing is left of a key once the watermark has passed it."""
        return self.kind not in {"everything", "counted"}


@dataclass(frozen=True)
class Pane:
    start: int | None
    end: int | None
    values: tuple[Any, ...]
    pane: str
    pane_number: int
    is_final: bool
    is_retraction: bool
    place: str


@dataclass(frozen=True)
class Late:
    event: Event
    late_by_ms: int | None


@dataclass
class Outcome:
    """What one key gives in one batch; `added` counts the events of some window."""

    panes: list[Pane] = field(default_factory=list)
    late: list[Late] = field(default_factory=list)
    added: int = 0


# The watermark of a batch, in milliseconds, and the key's events in it.
Batch = tuple[int, Sequence[Event]]


def iso(micros: int) -> str:
    """Write a time as places do.

    >>> iso(1_772_359_500_000_001)
    '2026-03-01T10:05:00.000001Z'
    """
    return f"{EPOCH + micros * MICROSECOND:%Y-%m-%dT%H:%M:%S.%fZ}"
