"""A window of the model and what its firing gives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from support.models.window_model_aggregates import AGGREGATES, HAVINGS
from support.models.window_model_terms import Event, Pane, Windowing, in_order


@dataclass
class Window:
    """A window and all its events; `fresh` are those since its last firing.

    `on_time`: it has no on-time pane to come. `closed`: it has fired an on-time or a
    late pane. `marked`: it is to be corrected at the end of the batch. `standing`: the
    pane that readers hold for true.
    """

    start: int
    end: float
    place: str
    events: list[Event] = field(default_factory=list)
    fresh: list[Event] = field(default_factory=list)
    number: int = 0
    on_time: bool = False
    closed: bool = False
    marked: bool = False
    standing: Pane | None = None

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.fresh.append(event)


def retraction(standing: Pane, kind: str) -> Pane:
    return replace(standing, pane=kind, is_final=False, is_retraction=True)


def fire(
    step: Windowing,
    window: Window,
    kind: str,
    *,
    is_final: bool = False,
) -> list[Pane]:
    """Give a pane of a window, after the retraction of the one it replaces."""
    events = window.fresh if step.panes == "discarding" else window.events
    events = in_order(events)
    window.fresh, window.marked = [], False
    window.closed = window.closed or kind != "early"
    shown = step.having is None or HAVINGS[step.having].of(events)
    given = []
    if window.standing and (step.panes == "retracting" or not shown):
        given.append(retraction(window.standing, kind))
    window.standing = None
    if shown:
        window.number += 1
        bounds = bounds_shown(step, window)
        values = tuple(AGGREGATES[name].of(events) for name in step.aggregates)
        pane = Pane(*bounds, values, kind, window.number, is_final, False, window.place)
        given.append(pane)
        if step.panes != "discarding":
            window.standing = pane
    return given


def bounds_shown(step: Windowing, window: Window) -> tuple[int | None, int | None]:
    match step.kind:
        case "everything":
            return None, None
        case "counted":
            times = [event.at for event in window.events if event.at is not None]
            return min(times, default=None), max(times, default=None)
    return window.start, int(window.end)
