"""Windows, panes and late events in plain Python: what the engine is held against.

`model` takes the batches of one key and recomputes every pane from the list of the
window's events. These are the rules where the words of a window step leave room:

Time
    A watermark of W milliseconds has reached a time t of microseconds if t <= 1000 W.
    `late_by_ms` is the time between them in whole milliseconds, rounded down; it is
    negative for an event of no window that is ahead of the watermark.
    Events without a time come before all others of their batch.
    The output does not depend on batches without rows: one that Spark inserts because
    the watermark has moved gives what the next batch with rows would have given first.

Early panes
    A mark of after(time=T) is new if it lies after the watermark of the query's
    previous batch and the present one has reached it. So marks that were passed before
    an event came do not fire it; a merge that moves a session's start moves its marks.
    An event in several windows fires them in order (end, start).
    The n-th event of a counted window gives its on-time pane and no early one.

Panes
    A firing that `having` suppresses is a firing all the same: the events before it
    are not "since the last firing" any more, and an on-time pane is not made up for.
    `having` looks at the values that the pane would have: with discarding panes, at
    those of the events since the last firing.
    A retraction is the row that stood, bounds and number too, with the kind of the
    pane that replaces it, is_retraction, and never is_final.
    Accumulating panes give retractions in two cases: `having` suppresses the pane that
    replaces a standing one, and a session's start moves.

Sessions
    A session that the watermark has passed by more than `allowed` takes no events, in
    the batch that finds this out as well: it is forgotten before the rows.
    So an event that meets a living session is never late.
    The retraction of a pane whose session has got an earlier start is `late` if one of
    the merged sessions has ever fired an on-time or late pane, shown or suppressed.
    Two sessions of 2 and 1 events since their last firings and the event that joins
    them fire after(events=3), once.

Sliding
    An event's correction marks every later event within reach that the watermark has
    reached, those of this batch too; one that is still ahead gets its on-time pane.
    Suppressed or not, on-time panes are not repeated.

Counted
    Bounds are those of all the window's events, with discarding panes too; events
    without a time have no part in them.
    first, last and collect follow the order of events, as everywhere, although a later
    batch may bring earlier events.
"""

from __future__ import annotations

from collections.abc import Sequence

from support.models.window_model_bounded import Assigned, Sessions
from support.models.window_model_single import Counted, Sliding
from support.models.window_model_terms import (
    Batch,
    Event,
    Late,
    Outcome,
    Pane,
    Windowing,
    iso,
)

__all__ = ["Batch", "Event", "Late", "Outcome", "Pane", "Windowing", "iso", "model"]


def model(step: Windowing, batches: Sequence[Batch]) -> list[Outcome]:
    """Give what one key gives in each of the query's batches, with its rows or not."""
    machine: Assigned | Sessions | Sliding | Counted
    match step.kind:
        case "sessions":
            machine = Sessions(step)
        case "sliding":
            machine = Sliding(step)
        case "counted":
            machine = Counted(step)
        case _:
            machine = Assigned(step)
    return [machine.batch(watermark, list(events)) for watermark, events in batches]
