"""The windows of the model that have bounds: assigned ones and sessions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from support.models.window_model_firing import Window, fire, retraction
from support.models.window_model_terms import (
    Event,
    Late,
    Outcome,
    Windowing,
    in_order,
    iso,
)


def late(event: Event, now: int) -> Late:
    return Late(event, None if event.at is None else (now - event.at) // 1000)


class Bounded(ABC):
    """The windows of one key; `now` is the watermark, `before` that of the last batch.

    Both are in microseconds.
    """

    def __init__(self, step: Windowing) -> None:
        self.step = step
        self.windows: list[Window] = []
        self.now = self.before = 0
        self.outcome = Outcome()

    def batch(self, watermark: int, events: list[Event]) -> Outcome:
        self.before, self.now = self.now, watermark * 1000
        self.outcome = Outcome()
        self._fire_due()
        # Before the rows too: a session that is over takes no more events, whether or
        # not a batch without rows has come in between.
        self._forget()
        for event in in_order(events):
            if self._took(event):
                self.outcome.added += 1
            else:
                self.outcome.late.append(late(event, self.now))
        for window in self._in_order():
            if window.marked:
                self._fire(window, "late")
        self._forget()
        return self.outcome

    @abstractmethod
    def _took(self, event: Event) -> bool:
        """Put an event into its windows; False if it is late."""

    def _fire_due(self) -> None:
        for window in self._in_order():
            if window.on_time:
                continue
            if window.end <= self.now:
                window.on_time = True
                self._fire(window, "on-time")
            elif window.fresh and self._passed_a_mark(window):
                self._fire(window, "early")

    def _passed_a_mark(self, window: Window) -> bool:
        every = self.step.early_time
        if every is None:
            return False
        marks = [max(0, (at - window.start) // every) for at in (self.before, self.now)]
        return marks[0] < marks[1]

    def _after_adding(self, window: Window) -> None:
        """Fire a window at once if it has enough events, or mark it for correction."""
        window.on_time = window.marked = window.end <= self.now
        enough = self.step.early_events
        if not window.on_time and enough and len(window.fresh) >= enough:
            self._fire(window, "early")

    def _fire(self, window: Window, kind: str) -> None:
        final = kind == "on-time" and self.step.allowed == 0
        self.outcome.panes += fire(self.step, window, kind, is_final=final)

    def _forget(self) -> None:
        self.windows = [w for w in self.windows if not self._is_over(w.end)]

    def _is_over(self, end: float) -> bool:
        return end + self.step.allowed <= self.now

    def _in_order(self) -> list[Window]:
        return sorted(self.windows, key=lambda window: (window.end, window.start))


class Assigned(Bounded):
    """tumbling, hopping, assigned and everything: an event says where it belongs."""

    def _took(self, event: Event) -> bool:
        living = [
            (start, end)
            for start, end in bounds(self.step, event)
            if not self._is_over(end)
        ]
        for start, end in living:
            window = self._at(start, end)
            window.add(event)
            self._after_adding(window)
        return bool(living)

    def _at(self, start: int, end: float) -> Window:
        for window in self.windows:
            if (window.start, window.end) == (start, end):
                return window
        place = iso(start)
        if self.step.kind == "everything":
            place = "all"
        elif self.step.kind == "assigned":
            place = f"{iso(start)}/{iso(int(end))}"
        self.windows.append(Window(start, end, place))
        return self.windows[-1]


def bounds(step: Windowing, event: Event) -> list[tuple[int, float]]:
    """Give the windows of an event, in order of their ends."""
    if event.at is None:
        return []
    match step.kind:
        case "everything":
            # Its marks are counted from 1970 on.
            return [(0, math.inf)]
        case "assigned":
            if event.begins is None or event.ends is None:
                return []
            return [(event.begins, event.ends)] if event.begins < event.ends else []
    every = step.every or step.size
    last = (event.at - step.offset) // every * every + step.offset
    starts = []
    while last + step.size > event.at:
        starts.append(last)
        last -= every
    return [(start, start + step.size) for start in reversed(starts)]


class Sessions(Bounded):
    def _took(self, event: Event) -> bool:
        if event.at is None:
            return False
        start, end = event.at, event.at + self.step.gap
        met = [w for w in self.windows if start < w.end and w.start < end]
        start = min([start, *(window.start for window in met)])
        end = max([end, *(int(window.end) for window in met)])
        if self._is_over(end):
            return False
        merged = self._merged(Window(start, end, iso(start)), met)
        merged.add(event)
        self._after_adding(merged)
        return True

    def _merged(self, merged: Window, met: list[Window]) -> Window:
        merged.number = max((window.number for window in met), default=0)
        merged.closed = any(window.closed for window in met)
        for window in sorted(met, key=lambda window: window.start):
            merged.events += window.events
            merged.fresh += window.fresh
            if window.start == merged.start:
                merged.standing = window.standing
            elif window.standing:
                kind = "late" if merged.closed else "early"
                self.outcome.panes.append(retraction(window.standing, kind))
        self.windows = [w for w in self.windows if w not in met] + [merged]
        return merged
