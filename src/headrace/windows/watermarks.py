"""Watermark strategies: how far event time has come, and who holds it back.

A strategy is chosen where a topic is read::

    payments = fraud.read(kafka("payments", Payment),
                          watermark=watermarks.by_partition(seconds(10)))

``read(..., out_of_order=seconds(10))`` is short for that one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from headrace.durations import days, minutes, seconds
from headrace.errors import StepError
from headrace.schema.origin import declared_at
from headrace.windows.lengths import (
    microseconds,
    require_duration,
    require_timedelta,
)

_MILLISECOND = timedelta(milliseconds=1)
_NOTHING = timedelta(0)
_LONGEST = days(1)
_STEP = seconds(1)

IDLE = minutes(1)
"""How long a silent partition holds the watermark, unless told otherwise."""


@dataclass(frozen=True)
class Strategy(ABC):
    """How a source's watermark is decided."""

    kind: ClassVar[str]

    @property
    def peeks(self) -> bool:
        """Whether the log's end is looked at before each batch."""
        return False

    @property
    @abstractmethod
    def summary(self) -> str:
        """What the strategy does, in a line."""

    @property
    @abstractmethod
    def terms(self) -> dict[str, Any]:
        """What ``io.headrace.clock`` has to know."""


@dataclass(frozen=True)
class Lagging(Strategy):
    """The largest event time of all partitions, less a lag."""

    lag: timedelta

    kind: ClassVar[str] = "lagging"

    @property
    def summary(self) -> str:
        """Say the lag."""
        return f"{self.lag} behind the largest event time"

    @property
    def terms(self) -> dict[str, Any]:
        """Give kind and lag."""
        return {"kind": self.kind, "lag_us": microseconds(self.lag)}


@dataclass(frozen=True)
class ByPartition(Strategy):
    """The least of the partitions' largest event times, less a lag."""

    lag: timedelta
    idle: timedelta | None
    peek: bool = False

    kind: ClassVar[str] = "by-partition"

    @property
    def peeks(self) -> bool:
        """Whether the log's end is looked at before each batch."""
        return self.peek

    @property
    def summary(self) -> str:
        """Say the lag, the time-out and what is looked at."""
        ahead = ", looks at the log's end" if self.peek else ""
        return f"{self.lag} behind the slowest partition, {_held(self.idle)}{ahead}"

    @property
    def terms(self) -> dict[str, Any]:
        """Give kind, lag and time-out."""
        return {
            "kind": self.kind,
            "lag_us": microseconds(self.lag),
            "idle_ms": _idle_ms(self.idle),
        }


@dataclass(frozen=True)
class Ascending(Strategy):
    """Just below the least of the partitions' largest event times."""

    idle: timedelta | None

    kind: ClassVar[str] = "ascending"

    @property
    def summary(self) -> str:
        """Say the time-out."""
        return f"just behind the slowest partition, {_held(self.idle)}"

    @property
    def terms(self) -> dict[str, Any]:
        """Give kind and time-out; what is at a watermark or before it comes no more."""
        return {
            "kind": self.kind,
            "lag_us": microseconds(_MILLISECOND),
            "idle_ms": _idle_ms(self.idle),
        }


@dataclass(frozen=True)
class Observed(Strategy):
    """By partition, with a delay that follows how late events come."""

    percentile: float
    at_least: timedelta
    at_most: timedelta
    idle: timedelta | None

    kind: ClassVar[str] = "observed"

    @property
    def summary(self) -> str:
        """Say the share, the bounds and the time-out."""
        return (
            f"behind the slowest partition by what {self.percentile:.4g} of the events "
            f"keep to, {self.at_least} to {self.at_most}, {_held(self.idle)}"
        )

    @property
    def terms(self) -> dict[str, Any]:
        """Give kind, share, bounds and time-out."""
        return {
            "kind": self.kind,
            "percentile": self.percentile,
            "at_least_ms": self.at_least // _MILLISECOND,
            "at_most_ms": self.at_most // _MILLISECOND,
            "idle_ms": _idle_ms(self.idle),
        }


@dataclass(frozen=True)
class Arrival(Strategy):
    """The wall clock."""

    every: timedelta

    kind: ClassVar[str] = "arrival"

    @property
    def summary(self) -> str:
        """Say how often it moves."""
        return f"the wall clock, every {self.every}"

    @property
    def terms(self) -> dict[str, Any]:
        """Give kind and step."""
        return {"kind": self.kind, "every_ms": max(1, self.every // _MILLISECOND)}


def lagging(lag: timedelta) -> Lagging:
    """Stay behind the largest event time of all partitions, as Spark itself does.

    The cheapest, and the one that Spark's own windows are used with. A partition that
    is read faster than the others makes their events late: it suits topics of one
    partition, and reading at the log's end.

    Args:
        lag: How much later than its successors an event may arrive.

    Raises:
        StepError: [duration-unreadable], [duration-negative], [duration-too-long].

    Example:
        >>> lagging(seconds(10)).summary
        '0:00:10 behind the largest event time'
    """
    return Lagging(_not_negative(lag, "a lag"))


def by_partition(
    lag: timedelta, *, idle: timedelta | None = IDLE, peek: bool = False
) -> ByPartition:
    """Stay behind the partition that has come least far.

    However unevenly the partitions are read, no event is late that was in order in
    its own, up to the lag. A partition that has been read to its end and stays silent
    for `idle` is no longer waited for.

    Args:
        lag: How much later than its successors in the partition an event may arrive.
        idle: How long a silent partition is waited for; None for ever.
        peek: Whether to look at the log's end before each batch, so that results
            come in the batch that reads the events which complete them, and not in
            the next. What is late is the same. Spark's own windows and joins are not
            used then.

    Raises:
        StepError: [duration-unreadable], [duration-negative],
            [duration-not-positive], [duration-too-long].

    Example:
        >>> by_partition(seconds(10)).summary
        '0:00:10 behind the slowest partition, a silent one holds it for 0:01:00'
    """
    return ByPartition(_not_negative(lag, "a lag"), _idle(idle), peek)


def ascending(*, idle: timedelta | None = IDLE) -> Ascending:
    """Follow partitions in which event times never go down.

    Args:
        idle: How long a silent partition is waited for; None for ever.

    Raises:
        StepError: [duration-unreadable], [duration-not-positive],
            [duration-too-long].
    """
    return Ascending(_idle(idle))


def observed(
    percentile: float = 0.99,
    *,
    at_least: timedelta = _NOTHING,
    at_most: timedelta = _LONGEST,
    idle: timedelta | None = IDLE,
) -> Observed:
    """Stay behind by as much as events have lately been late.

    Of about the last hundred thousand events, this share was not further behind the
    largest event time before it in its partition than the delay. Every batch reports
    the delay that was chosen.

    Args:
        percentile: The share of events that are to be in time, from 0 to 1.
        at_least: The shortest delay.
        at_most: The longest delay.
        idle: How long a silent partition is waited for; None for ever.

    Raises:
        StepError: [share-out-of-range], [delays-reversed], [duration-unreadable],
            [duration-negative], [duration-not-positive], [duration-too-long].
    """
    where = declared_at()
    if not 0 < percentile <= 1:
        raise StepError(
            "share-out-of-range",
            f"percentile is {percentile}, not a share above 0, up to 1",
            hint="for 99 of 100 events, give 0.99.",
            where=where,
        )
    _not_negative(at_least, "a delay")
    _not_negative(at_most, "a delay")
    if at_least > at_most:
        raise StepError(
            "delays-reversed",
            f"the shortest delay, {at_least}, is above the longest, {at_most}",
            hint="exchange at_least and at_most.",
            where=where,
        )
    return Observed(percentile, at_least, at_most, _idle(idle))


def arrival(*, every: timedelta = _STEP) -> Arrival:
    """Let the wall clock of the driver be the watermark.

    Windows close when the clock on the wall passes their end, whether events come or
    not. Events are still put into windows by their own time, and are late if that has
    passed when they arrive.

    Args:
        every: In which steps it moves; each step is a batch, with events or without.

    Raises:
        StepError: [duration-unreadable], [duration-not-positive],
            [duration-too-long].
    """
    return Arrival(require_duration(every, "a step", declared_at()))


def _not_negative(length: timedelta, what: str) -> timedelta:
    where = declared_at()
    require_timedelta(length, what, where)
    if length < _NOTHING:
        raise StepError(
            "duration-negative",
            f"{what} is {length.total_seconds():g} seconds",
            hint="give zero or more: seconds(10).",
            where=where,
        )
    return length


def _idle(idle: timedelta | None) -> timedelta | None:
    if idle is None:
        return None
    return require_duration(idle, "an idle time", declared_at())


def _idle_ms(idle: timedelta | None) -> int | None:
    return None if idle is None else idle // _MILLISECOND


def _held(idle: timedelta | None) -> str:
    if idle is None:
        return "however silent it is"
    return f"a silent one holds it for {idle}"
