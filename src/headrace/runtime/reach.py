"""How far a batch has come in its topics, and how many records it had of them.

A pipeline may read a topic at several places: as one source of which Spark evaluates
the rows several times, or as several sources, which need not be at the same offset.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Partition = tuple[str, str]


class Reach:
    """What the sources of one batch come to, with each record counted once.

    Args:
        read: The records that each source gave, by its description, as the delivery
            has counted them; None if it has not, and Spark's own count is all there is.
    """

    def __init__(self, read: Mapping[str, Sequence[int]] | None) -> None:
        self._read = read
        self._sources: dict[str, list[dict[str, Any]]] = {}

    def add(self, source: dict[str, Any]) -> None:
        """Add what Spark tells of a source."""
        # Two sources of one topic have the same description.
        self._sources.setdefault(source.get("description", ""), []).append(source)

    @property
    def records(self) -> int:
        """How many records the batch had.

        Where several sources read a topic from different places, and it is not known
        which of their records are the same, it is the offsets that count.
        """
        return sum(self._records(name) for name in self._sources)

    @property
    def offsets(self) -> dict[str, dict[str, int]]:
        """Where the next batch begins: what any source has still to read counts."""
        found: dict[str, dict[str, int]] = {}
        for source in self._all():
            for topic, partitions in places(source["endOffset"]).items():
                known = found.setdefault(topic, {})
                for partition, offset in partitions.items():
                    known[partition] = min(offset, known.get(partition, offset))
        return found

    @property
    def lag(self) -> int:
        """How many offsets the topics held beyond the batch's end when it began."""
        behind: dict[Partition, int] = {}
        for source in self._all():
            end = _flat(source["endOffset"])
            for place, offset in _flat(source["latestOffset"]).items():
                here = offset - end.get(place, 0)
                behind[place] = max(here, behind.get(place, 0))
        return sum(behind.values())

    def _all(self) -> list[dict[str, Any]]:
        """Give the sources that read topics; those of the rig read files."""
        found = [source for sources in self._sources.values() for source in sources]
        return [source for source in found if _is_topic(source)]

    def _records(self, name: str) -> int:
        sources = self._sources[name]
        if self._read is None or not all(map(_is_topic, sources)):
            return sum(source.get("numInputRows", 0) for source in sources)
        counted = self._read.get(name, ())
        ranges = [_range(source) for source in sources]
        if all(one == ranges[0] for one in ranges):
            return max(counted, default=0)
        return min(sum(counted), _union(ranges))


def places(offsets: Any) -> dict[str, Any]:
    """Read offsets as Spark writes them: JSON, or JSON inside a text."""
    found = json.loads(offsets) if isinstance(offsets, str) else offsets
    return found or {}


def _is_topic(source: dict[str, Any]) -> bool:
    """Tell whether a source's offsets are those of partitions, of a topic each."""
    found = places(source["endOffset"]).values()
    return all(isinstance(partitions, dict) for partitions in found)


def _flat(offsets: Any) -> dict[Partition, int]:
    return {
        (topic, partition): offset
        for topic, partitions in places(offsets).items()
        for partition, offset in partitions.items()
    }


def _range(source: dict[str, Any]) -> dict[Partition, tuple[int, int]]:
    """Give the first and the next offset of each partition that a batch has read."""
    begin = _flat(source.get("startOffset"))
    return {
        # A partition that was never read begins where it begins, which is not told.
        place: (begin.get(place, 0), end)
        for place, end in _flat(source["endOffset"]).items()
    }


def _union(ranges: Sequence[Mapping[Partition, tuple[int, int]]]) -> int:
    """Count the offsets that at least one of the ranges holds."""
    count = 0
    for place in {place for each in ranges for place in each}:
        reached = 0
        for begin, end in sorted(each[place] for each in ranges if place in each):
            count += max(0, end - max(begin, reached))
            reached = max(reached, end)
    return count
