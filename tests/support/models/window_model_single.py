"""The windows of the model that events make: one for each event, or for so many."""

from __future__ import annotations

from support.models.window_model_bounded import late
from support.models.window_model_firing import Window, fire
from support.models.window_model_terms import (
    Event,
    Outcome,
    Windowing,
    in_order,
    iso,
    order,
)


class Sliding:
    """One window for each event: what came in the time before it, and itself."""

    def __init__(self, step: Windowing) -> None:
        self.step = step
        self.kept: list[tuple[Event, Window]] = []
        self.outcome = Outcome()

    def batch(self, watermark: int, events: list[Event]) -> Outcome:
        now = watermark * 1000
        self.outcome = Outcome()
        for event, window in self._in_order():
            if not window.on_time and window.end <= now:
                window.on_time = True
                self._fire(event, window, "on-time")
        for event in in_order(events):
            if event.at is None or event.at + self.step.allowed <= now:
                self.outcome.late.append(late(event, now))
            else:
                self.outcome.added += 1
                self._take(event, event.at, now)
        for event, window in self._in_order():
            if window.marked:
                self._fire(event, window, "late")
        remembered = self.step.size + self.step.allowed
        self.kept = [
            (event, window)
            for event, window in self.kept
            if not window.end + remembered <= now
        ]
        return self.outcome

    def _take(self, event: Event, at: int, now: int) -> None:
        origin = f"{event.topic}/{event.partition}/{event.offset}"
        window = Window(at - self.step.size, at, f"{iso(at)}/{origin}")
        self.kept.append((event, window))
        if at > now:
            if self.step.early_events:
                self._fire(event, window, "early")
            return
        window.on_time = True
        for other, theirs in self.kept:
            if order(event) <= order(other) and theirs.end < at + self.step.size:
                theirs.marked = theirs.on_time

    def _fire(self, event: Event, window: Window, kind: str) -> None:
        window.events = [
            other
            for other, theirs in self.kept
            if order(other) <= order(event) and theirs.end > window.start
        ]
        final = kind == "on-time" and self.step.allowed == 0
        self.outcome.panes += fire(self.step, window, kind, is_final=final)

    def _in_order(self) -> list[tuple[Event, Window]]:
        return sorted(self.kept, key=lambda pair: order(pair[0]))


class Counted:
    """So many events of a key for each window, one window after another."""

    def __init__(self, step: Windowing) -> None:
        self.step = step
        self.window = Window(0, 0, "1")

    def batch(self, _watermark: int, events: list[Event]) -> Outcome:
        outcome = Outcome(added=len(events))
        for event in in_order(events):
            window = self.window
            window.add(event)
            if len(window.events) == self.step.count:
                outcome.panes += fire(self.step, window, "on-time", is_final=True)
                self.window = Window(0, 0, str(int(window.place) + 1))
            elif self.step.early_events == len(window.fresh):
                outcome.panes += fire(self.step, window, "early")
        return outcome
