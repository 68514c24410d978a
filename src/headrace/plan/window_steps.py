"""The steps of a window: the operator, and what a stream sees of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.plan.join_steps import behind
from headrace.plan.steps import OneInput, Read, Stateful, Step, Transform, walk
from headrace.windows.aggregates import Aggregate
from headrace.windows.firing import Firing, Refire
from headrace.windows.kinds import (
    Counted,
    Everything,
    Hopping,
    Kind,
    Sliding,
    Tumbling,
)
from headrace.windows.lengths import microseconds
from headrace.windows.watermarks import Observed

LATE_BY = "late_by_ms"

# State is kept by part, so the number stays the same for life.
_PARTS = 16


@dataclass(frozen=True)
class Having:
    """Which panes are told: the condition as written, and in terms of events."""

    text: str
    sql: str


@dataclass(frozen=True, eq=False)
class Window(Stateful):
    """Put events into windows; its rows are panes and late events alike.

    `columns`, `key` and `time` are those of the panes.
    """

    kind: Kind
    by: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    having: Having | None
    firing: Firing
    hot_keys: str | None

    verb: ClassVar[str] = "window"

    @property
    def engine(self) -> str:
        """Who does it: Spark itself where it means exactly the same."""
        return "native" if self._is_native else "operator"

    @property
    def summary(self) -> str:
        """Name kind, key and aggregates, and what differs from the plain case."""
        firing = self.firing
        told = [f'"{self.name}"', self.kind.summary]
        told.append(f"by {', '.join(self.by)}" if self.by else "over all keys")
        if firing.early is not None:
            told.append(f"early {firing.early}, {firing.panes}")
        elif isinstance(firing.late, Refire):
            told.append(firing.panes)
        if self.having is not None:
            told.append(f"having {self.having.text}")
        if self.hot_keys is not None:
            told.append("hot keys spread")
        results = ", ".join(f"{a.name} = {a.text}" for a in self.aggregates)
        return f"{', '.join(told)}: {results}"

    @property
    def state(self) -> str:
        """Say what is kept for how long."""
        of = f" of each {', '.join(self.by)}" if self.by else ""
        beyond = f" by {self.firing.allowed}" if self.firing.allowed else ""
        match self.kind:
            case Everything():
                return f"the aggregates{of}, for ever"
            case Counted():
                return f"the aggregates{of} until its window is full"
            case Sliding(size):
                kept = size + self.firing.allowed
                return f"the events{of} until the watermark is {kept} beyond them"
        of = f"{of} and window" if of else " of each window"
        return f"the aggregates{of} until the watermark passes its end{beyond}"

    @property
    def late_events(self) -> str:
        """Say what becomes of late events."""
        late = self.firing.late
        if isinstance(self.kind, Counted):
            return "none: no time is looked at"
        if isinstance(late, Refire):
            return f"correct their panes for {late.within}, then go to the side output"
        return "dropped and counted" if late == "drop" else "go to the side output"

    @property
    def has_late_events(self) -> bool:
        """Whether events can be late for it and go on as a stream of their own."""
        return self.firing.keeps_late and not isinstance(self.kind, Counted)

    @property
    def event_time(self) -> str | None:
        """The column of the events' own time."""
        return self.input.time

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know."""
        early = self.firing.early
        later = behind(self.input)
        wanted = [self.having.sql] if self.having else []
        return {
            "name": self.name,
            "kind": self.kind.name,
            **self.kind.terms,
            "by": list(self.by),
            "time": self.event_time,
            "names": [a.name for a in self.aggregates] + ["_having"] * len(wanted),
            "aggregates": [a.sql for a in self.aggregates] + wanted,
            "having": bool(wanted),
            "early_events": early.events if early else None,
            "early_time_us": microseconds(early.time) if early and early.time else None,
            "panes": self.firing.panes,
            "allowed_us": microseconds(self.firing.allowed),
            "keep_late": self.firing.keeps_late,
            "spread": _PARTS if self.hot_keys == "spread" else 0,
            "behind_us": None if later is None else microseconds(later),
        }

    @property
    def _is_native(self) -> bool:
        plain = self.firing == Firing(None, "accumulating", "drop")
        return (
            isinstance(self.kind, Tumbling | Hopping)
            and plain
            and self.hot_keys is None
            # Spark goes by one event time among the columns of a key.
            and self.event_time not in self.by
            and not any(needs_operator_behind(step) for step in walk(self.input))
        )


def needs_operator_behind(step: Step) -> bool:
    """Say whether a step before a window or a join needs our operator behind it.

    A clock that observes how late events are must not see any of them twice, as it
    would where dead letters are read apart. And ours judge events by the watermark of
    the batch before, where that of a batch knows its own.
    """
    if isinstance(step, Read):
        return isinstance(step.watermark, Observed) or step.watermark.peeks
    return isinstance(step, Stateful | Transform)


@dataclass(frozen=True, eq=False)
class Panes(OneInput):
    """The panes of a window, row by row."""

    input: Window

    verb: ClassVar[str] = "panes"


@dataclass(frozen=True, eq=False)
class LateEvents(OneInput):
    """The events that came too late for a window, row by row."""

    input: Window

    verb: ClassVar[str] = "late"

    @property
    def summary(self) -> str:
        """Name the window."""
        return f'events too late for "{self.input.name}"'


def windows(step: Step) -> Iterator[Window]:
    """Give the windows that feed a step, directly or not."""
    return (earlier for earlier in walk(step) if isinstance(earlier, Window))


def replacing(step: Step) -> Window | None:
    """Give a window whose panes reach a step and can replace each other."""
    if isinstance(step, LateEvents):
        return None
    if isinstance(step, Window) and step.firing.replaces:
        return step
    found = (replacing(earlier) for earlier in step.inputs)
    return next((window for window in found if window is not None), None)
