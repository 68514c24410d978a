"""Clocks: which sources drive the watermark of a query, each by its strategy.

A source is clocked where it is opened, once, if a step behind it keeps state: Spark
refuses a watermark behind another, and takes the least of several beside each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from headrace._spark.clock import clocked, woken
from headrace.plan.steps import Output, Read, Stateful, walk
from headrace.windows.lengths import microseconds
from headrace.windows.watermarks import Lagging

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Hands:
    """Where a test sets the clocks, in milliseconds.

    Args:
        now: What the wall clock shows.
        moved_to: What the watermarks are moved to; 0 for nowhere.
    """

    now: int
    moved_to: int


class Clocks:
    """The clocks of one query.

    Args:
        outputs: What the query writes.
        hands: Given in a test, where nothing may depend on the time of day.
        client: How to ask the brokers for the end of a topic; without it, no clock
            looks there.

    Attributes:
        names: The sources that drive the watermark, and what their clocks are called.
    """

    def __init__(
        self,
        outputs: Sequence[Output],
        *,
        hands: Hands | None = None,
        client: Mapping[str, str] | None = None,
    ) -> None:
        self._hands = hands
        self._client = dict(client or {})
        self._group = uuid4().hex
        self.names = _names(_timed_reads(outputs))

    def driving(self, frame: DataFrame, read: Read) -> DataFrame:
        """Give a source's frame, driving the watermark if that is needed of it.

        Args:
            frame: The source's decoded events.
            read: The source.
        """
        time, strategy = read.time, read.watermark
        if time is None or read not in self.names:
            return frame
        if isinstance(strategy, Lagging) and self._hands is None:
            delay = microseconds(strategy.lag)
            return frame.withWatermark(time, f"{delay} microseconds")
        settings = strategy.terms | {
            "name": self.names[read],
            "topic": read.source.topic,
            "time": time,
            "group": self._group,
            "alone": len(self.names) == 1,
        }
        if strategy.peeks:
            settings["client"] = self._client
        if self._hands is not None:
            settings |= {"now_ms": self._hands.now, "floor_ms": self._hands.moved_to}
        return clocked(frame, settings)

    def waking(self, outgoing: DataFrame) -> DataFrame:
        """Give what a query sends, with a source that asks for a batch if one is due.

        A clock of ours does that by itself, for all sources of its query.

        Args:
            outgoing: The rows of all outputs.
        """
        alone = all(isinstance(read.watermark, Lagging) for read in self.names)
        if not self.names or not alone or self._hands is not None:
            return outgoing
        return woken(outgoing)


def _timed_reads(outputs: Sequence[Output]) -> list[Read]:
    """Give the sources with an event time that a step with state is behind."""
    found: dict[Read, None] = {}
    for output in outputs:
        for step in walk(output.step):
            if isinstance(step, Stateful):
                for earlier in walk(step):
                    if isinstance(earlier, Read) and earlier.time is not None:
                        found[earlier] = None
    return list(found)


def _names(reads: Sequence[Read]) -> dict[Read, str]:
    """Call each by its topic, with a number where several read the same."""
    topics = Counter(read.source.topic for read in reads)
    seen: Counter[str] = Counter()
    names = {}
    for read in reads:
        topic = read.source.topic
        seen[topic] += 1
        names[read] = topic if topics[topic] == 1 else f"{topic}#{seen[topic]}"
    return names
