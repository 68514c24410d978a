"""When a window fires, and what becomes of events that come after it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headrace.errors import StepError
from headrace.schema.origin import declared_at
from headrace.windows.lengths import require_count, require_duration

PANES = ("accumulating", "discarding", "retracting")
LATE = ("side-output", "drop")
HOT_KEYS = ("spread",)


@dataclass(frozen=True)
class After:
    """Fire early: after so many events, after so much event time, or both."""

    events: int | None
    time: timedelta | None

    def __str__(self) -> str:
        parts = []
        if self.events is not None:
            parts.append(f"{self.events} events")
        if self.time is not None:
            parts.append(str(self.time))
        return f"after {' or '.join(parts)}"


@dataclass(frozen=True)
class Refire:
    """Correct panes by late events, for a time."""

    within: timedelta


@dataclass(frozen=True)
class Firing:
    """When the panes of a window come, and what they hold.

    Attributes:
        early: When panes come before a window is complete; None: never.
        panes: What a pane holds when an earlier one of its window has come.
        late: What becomes of late events.
    """

    early: After | None
    panes: str
    late: str | Refire

    @property
    def allowed(self) -> timedelta:
        """How long after its end a window is corrected."""
        return self.late.within if isinstance(self.late, Refire) else timedelta(0)

    @property
    def keeps_late(self) -> bool:
        """Whether events that are too late go on as a stream of their own."""
        return self.late != "drop"

    @property
    def replaces(self) -> bool:
        """Whether a pane can stand in the place of an earlier one."""
        again = self.early is not None or isinstance(self.late, Refire)
        return again and self.panes != "discarding"


def after(*, events: int | None = None, time: timedelta | None = None) -> After:
    """Fire a window before it is complete.

    Args:
        events: Whenever so many events have come since it fired last.
        time: Whenever the watermark has passed another `time` since the window's
            start, if events have come since it fired last.

    Raises:
        StepError: [firing-empty] neither is given; [count-below-one],
            [duration-not-positive], [duration-unreadable], [duration-too-long].

    Example:
        >>> str(after(events=100, time=timedelta(minutes=1)))
        'after 100 events or 0:01:00'
    """
    where = declared_at()
    if events is None and time is None:
        raise StepError(
            "firing-empty",
            "after() names neither events nor time",
            hint="say when to fire: after(events=100), after(time=minutes(1)).",
            where=where,
        )
    if events is not None:
        require_count(events, "a firing", where)
    if time is not None:
        require_duration(time, "a firing", where)
    return After(events, time)


def refire(within: timedelta) -> Refire:
    """Fire a window again for events that come after it was complete.

    Args:
        within: How long after the end of a window, by the watermark, it is
            corrected; later events go to ``stream.late``.

    Raises:
        StepError: [duration-not-positive], [duration-unreadable],
            [duration-too-long].

    Example:
        ``late=refire(minutes(10))``
    """
    return Refire(require_duration(within, "a correction", declared_at()))
