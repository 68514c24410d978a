"""A join of a stream with a table in plain Python, by the words of its documentation.

Nothing is forgotten here. Times are microseconds, watermarks milliseconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

TIMELESS = {"latest", "broadcast"}

Pair = tuple[int | None, int | None]


@dataclass(frozen=True)
class Looking:
    """How events are answered."""

    when: str
    missing: str
    kind: str = "left"
    grace: int = 0
    retention: int = 0


@dataclass(frozen=True)
class Event:
    """An event; `key` and `at` may be unknown."""

    number: int
    key: str | None
    at: int | None


@dataclass(frozen=True)
class Change:
    """A record of the table's topic; without a row it takes the row away."""

    key: str
    at: int
    row: int | None


@dataclass
class Told:
    """What a batch gives: results by the numbers of event and row, and the rest."""

    results: Counter[Pair] = field(default_factory=Counter)
    late: Counter[tuple[str, int, int | None]] = field(default_factory=Counter)
    missing: Counter[int] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)


class LookUp:
    """A join with a table that has seen some batches."""

    def __init__(self, step: Looking) -> None:
        self._step = step
        self._versions: dict[str, list[tuple[int, int | None]]] = defaultdict(list)
        self._waiting: list[Event] = []

    @property
    def waiting(self) -> int:
        """How many events have not been answered yet."""
        return 0 if self._step.missing == "null-then-correct" else len(self._waiting)

    def batch(
        self, events: Iterable[Event], changes: Iterable[Change], watermark: int
    ) -> Told:
        """Take a batch: its changes, its events, then what is due."""
        told = Told()
        now = watermark * 1000
        for change in changes:
            self._apply(change)
        if self._step.when == "known":
            for event in list(self._waiting):
                row = self._row(event)
                if row is not None:
                    self._waiting.remove(event)
                    told.results[event.number, row] += 1
                    told.counts["matched"] += self._step.missing == "wait"
        for event in events:
            told.counts["in"] += 1
            self._take(event, now, told)
        for event in list(self._waiting):
            assert event.at is not None
            if event.at + self._step.grace < now:
                self._waiting.remove(event)
                if self._step.missing != "null-then-correct":
                    self._answer(event, self._row(event), told)
        return told

    def _apply(self, change: Change) -> None:
        versions = self._versions[change.key]
        before = versions[-1] if versions else (None, None)
        if before[1] == change.row:
            return
        # The log orders versions: one that says to be older holds from then on.
        start = change.at if before[0] is None else max(before[0], change.at)
        versions.append((start, change.row))

    def _row(self, event: Event) -> int | None:
        """Give the row of an event's time, or the last one."""
        if event.key is None:
            return None
        versions = self._versions[event.key]
        if self._step.when in TIMELESS:
            return versions[-1][1] if versions else None
        assert event.at is not None
        rows = [row for start, row in versions if start <= event.at]
        return rows[-1] if rows else None

    def _take(self, event: Event, now: int, told: Told) -> None:
        step = self._step
        if step.when == "broadcast":
            self._answer(event, self._row(event), told)
            return
        timeless = step.when in TIMELESS
        if event.at is None or (not timeless and event.at < now - step.retention):
            by = None if event.at is None else (now - event.at) // 1000
            told.counts["late"] += 1
            if not timeless:
                told.late["left", event.number, by] += 1
            return
        row = self._row(event)
        is_over = event.at + step.grace < now
        waits = step.when == "settled" or (
            step.missing in {"wait", "null-then-correct"} and row is None
        )
        if waits and not is_over and event.key is not None and not timeless:
            self._waiting.append(event)
            if step.missing != "null-then-correct":
                return
        self._answer(event, row, told)

    def _answer(self, event: Event, row: int | None, told: Told) -> None:
        if row is not None:
            told.counts["matched"] += 1
            told.results[event.number, row] += 1
            return
        told.counts["missing"] += 1
        if self._step.missing == "side-output":
            told.missing[event.number] += 1
        elif self._step.kind == "left":
            told.results[event.number, None] += 1
