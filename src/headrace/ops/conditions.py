"""Conditions over the past of metrics; each can say itself in Prometheus' language.

Both ways mean the same: the metric of a pipeline is what its series give together,
and a window that is not filled yet is judged by what is there of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from headrace.ops.families import Family, Labels

STEP = timedelta(seconds=15)


@dataclass(frozen=True)
class Measure:
    """The numbers of a rule.

    Args:
        limit: What a value has to exceed.
        over: The length of the window that is looked at.
    """

    limit: float
    over: timedelta


class Past:
    """What metrics were, sampled over a time.

    Args:
        kept: How much of it is remembered.
    """

    def __init__(self, kept: timedelta) -> None:
        self._kept = kept.total_seconds()
        self._samples: deque[tuple[float, Mapping[Family, float]]] = deque()

    @property
    def now(self) -> float:
        """When the last sample was taken."""
        return self._samples[-1][0]

    def add(self, at: float, values: Mapping[Family, float]) -> None:
        """Add a sample; a metric that is not there yet is left out of it."""
        self._samples.append((at, dict(values)))
        while self._samples[0][0] < at - self._kept:
            self._samples.popleft()

    def last(self, family: Family) -> float | None:
        """Give what a metric is now."""
        return self._samples[-1][1].get(family)

    def window(self, family: Family, over: timedelta, *, ago: int = 0) -> list[float]:
        """Give the values within a window; `ago` windows before the last."""
        length = over.total_seconds()
        end = self.now - ago * length
        return [
            values[family]
            for at, values in self._samples
            if end - length <= at <= end and family in values
        ]

    def risen(self, family: Family, over: timedelta) -> float:
        """Give by how much a counter rose within the last window."""
        values = self.window(family, over)
        return values[-1] - values[0] if values else 0


@dataclass(frozen=True)
class Condition(ABC):
    """Something that is the case now, or is not.

    Args:
        family: The metric that it is about.
        beside: Another metric that it looks at.
    """

    family: Family
    beside: Family | None = None

    @property
    def families(self) -> list[Family]:
        """All metrics that it looks at."""
        return [self.family] if self.beside is None else [self.family, self.beside]

    @abstractmethod
    def find(self, past: Past, measure: Measure) -> float | None:
        """Give the value that a person wants to know, if it is the case."""

    @abstractmethod
    def promql(self, measure: Measure, where: str) -> str:
        """Give it in Prometheus' language; `where` selects the pipelines."""


class Above(Condition):
    """The metric exceeds the limit, and the one beside it is not zero."""

    def find(self, past: Past, measure: Measure) -> float | None:
        """Give the metric."""
        value = past.last(self.family)
        if value is None or value <= measure.limit:
            return None
        return value if self.beside is None or past.last(self.beside) else None

    def promql(self, measure: Measure, where: str) -> str:
        """Compare it with the limit."""
        above = f"{_now(self.family, where)} > {measure.limit:g}"
        if self.beside is None:
            return above
        return f"{above} and {_now(self.beside, where)} > 0"


class Grew(Condition):
    """The least of the last window exceeds that of the window before by the limit.

    The least, because a metric such as the lag rises while a batch runs and falls when
    it ends.
    """

    def find(self, past: Past, measure: Measure) -> float | None:
        """Give by how much."""
        last = past.window(self.family, measure.over)
        before = past.window(self.family, measure.over, ago=1)
        if not last or not before:
            return None
        grown = min(last) - min(before)
        return grown if grown > measure.limit else None

    def promql(self, measure: Measure, where: str) -> str:
        """Compare the least values of both windows."""
        over = f"[{length(measure.over)}:{length(min(STEP, measure.over))}]"
        value = f"({_now(self.family, where)}){over}"
        before = f"{value} offset {length(measure.over)}"
        least = f"min_over_time({value}) - min_over_time({before})"
        return f"{least} > {measure.limit:g}"


class Rose(Condition):
    """The counter rose by more than the limit within the window."""

    def find(self, past: Past, measure: Measure) -> float | None:
        """Give by how much."""
        risen = past.risen(self.family, measure.over)
        return risen if risen > measure.limit else None

    def promql(self, measure: Measure, where: str) -> str:
        """Compare its increase with the limit."""
        return f"{_increase(self.family, measure, where)} > {measure.limit:g}"


class Share(Condition):
    """The counter rose by more than the limit's share of the one beside it."""

    def find(self, past: Past, measure: Measure) -> float | None:
        """Give by how much the counter rose."""
        part = past.risen(self.family, measure.over)
        whole = past.risen(self.beside or self.family, measure.over)
        return part if part > measure.limit * whole else None

    def promql(self, measure: Measure, where: str) -> str:
        """Compare both increases."""
        part = _increase(self.family, measure, where)
        whole = _increase(self.beside or self.family, measure, where)
        return f"{part} > {measure.limit:g} * {whole}"


class Stood(Condition):
    """The metric did not change within the window, in which the one beside it rose."""

    def find(self, past: Past, measure: Measure) -> float | None:
        """Give by how much the other rose."""
        if len(set(past.window(self.family, measure.over))) != 1:
            return None
        return Rose(self.beside or self.family).find(past, measure)

    def promql(self, measure: Measure, where: str) -> str:
        """Count the changes of the one while the other increases."""
        changes = f"changes({self.family.name}{where}[{length(measure.over)}])"
        rose = Rose(self.beside or self.family).promql(measure, where)
        return f"{rose} and max by (pipeline) ({changes}) == 0"


def together(family: Family, values: Mapping[Labels, float]) -> float:
    """Give what the series of a metric give together: counts add up, times do not."""
    whole = max if family.name.endswith("_seconds") else sum
    return whole(values.values())


def length(duration: timedelta) -> str:
    """Give a duration as Prometheus writes it.

    Example:
        >>> length(timedelta(minutes=5)), length(timedelta(seconds=1.5))
        ('5m', '1500ms')
    """
    ms = duration // timedelta(milliseconds=1)
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1000)):
        if ms and ms % size == 0:
            return f"{ms // size}{unit}"
    return f"{ms}ms" if ms else "0s"


def _now(family: Family, where: str) -> str:
    whole = "max" if family.name.endswith("_seconds") else "sum"
    return f"{whole} by (pipeline) ({family.name}{where})"


def _increase(family: Family, measure: Measure, where: str) -> str:
    over = f"[{length(measure.over)}]"
    return f"sum by (pipeline) (increase({family.name}{where}{over}))"
