"""Watermark strategies in plain Python, to compare the clocks with."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import Any

from headrace.windows.watermarks import Arrival, Ascending, ByPartition, Observed

MS = 1000
"""Microseconds in a millisecond."""

Strategy = ByPartition | Ascending | Observed | Arrival


@dataclass(frozen=True)
class Shown:
    """What a batch has shown, and when.

    Attributes:
        now: The wall clock, in milliseconds.
        events: Partition and time of each event, in order, in microseconds.
        behind: The partitions that have events still to be read.
        told: Whether the query has told of its progress.
    """

    now: int
    events: tuple[tuple[int, int], ...]
    behind: frozenset[int]
    told: bool = True


@dataclass
class Model:
    """A strategy over a topic of so many partitions."""

    strategy: Strategy
    partitions: int
    watermark: int = 0
    largest: dict[int, int] = field(default_factory=dict)
    busy_at: dict[int, int] = field(default_factory=dict)
    lateness: list[int] = field(default_factory=list)

    def see(self, shown: Shown) -> list[int]:
        """Take in a batch; give how late each event was."""
        late = []
        for partition, time in shown.events:
            before = self.largest.get(partition, time)
            late.append(max(0, before - time))
            self.largest[partition] = max(before, time)
            self.busy_at[partition] = shown.now
        if shown.told:
            for partition in range(self.partitions):
                self.busy_at.setdefault(partition, shown.now)
        for partition in shown.behind:
            self.busy_at[partition] = shown.now
        self.lateness += late
        return late

    def decide(self, shown: Shown, delay: int) -> int:
        """Give the watermark in milliseconds, with a delay in microseconds."""
        if isinstance(self.strategy, Arrival):
            every = self.strategy.terms["every_ms"]
            wanted = shown.now // every * every
        else:
            wanted = self._by_partition(shown, delay)
        self.watermark = max(self.watermark, wanted)
        return self.watermark

    def _by_partition(self, shown: Shown, delay: int) -> int:
        awake = [p for p in self.busy_at if not self._is_idle(p, shown)]
        if awake and any(p not in self.largest for p in awake):
            return 0
        if awake:
            return (min(self.largest[p] for p in awake) - delay) // MS
        return (max(self.largest.values()) - delay) // MS if self.largest else 0

    def _is_idle(self, partition: int, shown: Shown) -> bool:
        idle: int | None = self.strategy.terms["idle_ms"]
        return (
            idle is not None
            and shown.told
            and partition not in shown.behind
            and shown.now - self.busy_at[partition] >= idle
        )

    @property
    def observed(self) -> int:
        """How late, in microseconds, the wanted share of events was at the most."""
        assert isinstance(self.strategy, Observed)
        if not self.lateness:
            return 0
        place = ceil(self.strategy.percentile * len(self.lateness))
        return sorted(self.lateness)[max(0, place - 1)]


def asked(model: Model, shown: Shown, late: list[int]) -> dict[str, Any]:
    """Give what the clock is told of a batch."""
    seen: dict[str, int] = {}
    for partition, _ in shown.events:
        seen[str(partition)] = model.largest[partition]
    return {
        "now": shown.now,
        "seen": seen,
        "late": late if isinstance(model.strategy, Observed) else [],
        "known": list(range(model.partitions)) if shown.told else [],
        "behind": sorted(shown.behind),
        "told": shown.told,
    }
