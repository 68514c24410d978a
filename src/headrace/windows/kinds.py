"""Kinds of windows: which events of a key belong together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from headrace.errors import StepError
from headrace.schema.origin import declared_at
from headrace.windows.lengths import (
    microseconds,
    require_count,
    require_duration,
    require_timedelta,
)

_NONE = timedelta(0)


@dataclass(frozen=True)
class Kind:
    """A kind of window.

    Attributes:
        name: What it is called.
        has_end: Whether its windows end in event time, so that a watermark can
            tell that one is complete.
    """

    name: ClassVar[str]
    has_end: ClassVar[bool] = True

    @property
    def summary(self) -> str:
        """The kind with its sizes, in a few words."""
        return self.name

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know of it."""
        return {}


@dataclass(frozen=True)
class Tumbling(Kind):
    """Windows of one size, one behind another."""

    size: timedelta
    offset: timedelta

    name: ClassVar[str] = "tumbling"

    @property
    def summary(self) -> str:
        """The kind with its sizes, in a few words."""
        return f"tumbling {self.size}{_shifted(self.offset)}"

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know of it."""
        size = microseconds(self.size)
        offset = microseconds(self.offset)
        return {"size_us": size, "every_us": size, "offset_us": offset}


@dataclass(frozen=True)
class Hopping(Kind):
    """Windows of one size that begin at regular times and overlap."""

    size: timedelta
    every: timedelta
    offset: timedelta

    name: ClassVar[str] = "hopping"

    @property
    def summary(self) -> str:
        """The kind with its sizes, in a few words."""
        return f"hopping {self.size} every {self.every}{_shifted(self.offset)}"

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know of it."""
        return {
            "size_us": microseconds(self.size),
            "every_us": microseconds(self.every),
            "offset_us": microseconds(self.offset),
        }


@dataclass(frozen=True)
class Sliding(Kind):
    """For each event, the time up to it."""

    size: timedelta

    name: ClassVar[str] = "sliding"

    @property
    def summary(self) -> str:
        """The kind with its size, in a few words."""
        return f"sliding {self.size} up to each event"

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know of it."""
        return {"size_us": microseconds(self.size)}


@dataclass(frozen=True)
class Sessions(Kind):
    """Events with no pause between them as long as the gap."""

    gap: timedelta

    name: ClassVar[str] = "sessions"

    @property
    def summary(self) -> str:
        """The kind with its gap, in a few words."""
        return f"sessions with gaps of {self.gap}"

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know of it."""
        return {"gap_us": microseconds(self.gap)}


@dataclass(frozen=True)
class Everything(Kind):
    """All events of a key in one window, which never ends."""

    name: ClassVar[str] = "everything"
    has_end: ClassVar[bool] = False


@dataclass(frozen=True)
class Counted(Kind):
    """So many events of a key, as they arrive."""

    count: int

    name: ClassVar[str] = "counted"

    @property
    def summary(self) -> str:
        """The kind with its count, in a few words."""
        return f"counted, {self.count} events each"

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know of it."""
        return {"count": self.count}


@dataclass(frozen=True)
class Assigned(Kind):
    """Windows whose bounds are computed from each event."""

    start: str
    end: str

    name: ClassVar[str] = "assigned"

    @property
    def summary(self) -> str:
        """The kind with its bounds, in a few words."""
        return f"assigned, from {self.start} to {self.end}"

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know of it."""
        return {"start": self.start, "end": self.end}


@dataclass(frozen=True)
class Staggered(Kind):
    """Windows of one size, side by side, that begin with each key's own moment."""

    size: timedelta

    name: ClassVar[str] = "staggered"

    @property
    def summary(self) -> str:
        """The kind with its size, in a few words."""
        return f"tumbling {self.size} by each key's own clock"

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know of it."""
        size = microseconds(self.size)
        return {"size_us": size, "every_us": size}


def tumbling(
    size: timedelta, *, offset: timedelta = _NONE, staggered: bool = False
) -> Tumbling | Staggered:
    """Divide time into windows of one size; each event is in one of them.

    Args:
        size: How long a window is.
        offset: How far from midnight UTC of 1970-01-01 windows begin; with
            ``hours(-2)``, windows of a day begin at 22:00 UTC.
        staggered: Whether the windows of each key begin at a moment of its own, which
            the key decides, instead of those of all keys at once. The panes are then
            spread over time and do not come as a burst.

    Raises:
        StepError: [duration-not-positive], [duration-unreadable],
            [duration-too-long].

    Example:
        >>> tumbling(timedelta(minutes=5)).summary
        'tumbling 0:05:00'
    """
    where = declared_at()
    require_duration(size, "a window", where)
    shifted = require_timedelta(offset, "an offset", where) % size
    return Staggered(size) if staggered else Tumbling(size, shifted)


def hopping(size: timedelta, *, every: timedelta, offset: timedelta = _NONE) -> Hopping:
    """Begin a window of one size at regular times; an event is in several.

    Args:
        size: How long a window is.
        every: How far apart windows begin; no more than `size`.
        offset: How far from midnight UTC of 1970-01-01 windows begin.

    Raises:
        StepError: [hop-beyond-size], [duration-not-positive],
            [duration-unreadable], [duration-too-long].

    Example:
        >>> hopping(timedelta(minutes=10), every=timedelta(minutes=5)).summary
        'hopping 0:10:00 every 0:05:00'
    """
    where = declared_at()
    require_duration(size, "a window", where)
    require_duration(every, "a hop", where)
    if every > size:
        raise StepError(
            "hop-beyond-size",
            f"windows of {size} that begin every {every} leave gaps",
            detail="an event in a gap would be in no window, and so be told as late.",
            hint="let windows begin at most their size apart; to look at a part of "
            "the time only, use where() before the window.",
            where=where,
        )
    return Hopping(size, every, require_timedelta(offset, "an offset", where) % every)


def sliding(size: timedelta) -> Sliding:
    """Give each event a window of its own: the last `size` up to it.

    Raises:
        StepError: [duration-not-positive], [duration-unreadable],
            [duration-too-long].

    Example:
        ``payments.window("recent", sliding(hours(1)), by="card", n="count(*)")``
    """
    return Sliding(require_duration(size, "a window", declared_at()))


def sessions(gap: timedelta) -> Sessions:
    """Put events together until none comes for as long as the gap.

    Raises:
        StepError: [duration-not-positive], [duration-unreadable],
            [duration-too-long].

    Example:
        ``clicks.window("visits", sessions(minutes(30)), by="user", n="count(*)")``
    """
    return Sessions(require_duration(gap, "a gap", declared_at()))


def everything() -> Everything:
    """Put all events of a key into one window, which never ends.

    It fires only early, so it needs ``early=after(...)``.

    Example:
        ``payments.window("total", everything(), by="card", early=after(events=1),
        spent="sum(amount)")``
    """
    return Everything()


def counted(count: int) -> Counted:
    """Put so many events of a key together; no event time is needed.

    Raises:
        StepError: [count-below-one].

    Example:
        ``readings.window("tens", counted(10), by="sensor", mean="avg(value)")``
    """
    return Counted(require_count(count, "a window", declared_at()))


def assigned(*, start: str, end: str) -> Assigned:
    """Compute the bounds of each event's window from the event itself.

    An event whose bounds are null, or do not follow each other, is in no window and
    is told as late.

    Args:
        start: An expression of Spark's SQL that gives a timestamp.
        end: One that gives a later timestamp; it is no part of the window.

    Example:
        >>> assigned(start="date_trunc('month', at)",
        ...          end="add_months(date_trunc('month', at), 1)").name
        'assigned'
    """
    return Assigned(start, end)


def _shifted(offset: timedelta) -> str:
    return f" shifted by {offset}" if offset else ""
