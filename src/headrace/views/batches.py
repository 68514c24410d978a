"""Put the records of a view's topics together to the batches that wrote them.

A transaction becomes visible in one partition after the other, and lanes commit each
by itself, so a reader of committed records sees parts of batches. The ledger of each
lane tells which batches it holds and where their rows end. A batch is whole once
every lane's ledger has it and all rows up to those ends were read.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import compress

Place = tuple[str, int]
"""A partition of a topic."""


@dataclass(frozen=True, slots=True)
class Change:
    """A record of a view's topic; without a value it takes its row away.

    `lineage` and `batch` are those of its stamp; of a record without one they are
    empty and -1.
    """

    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes | None
    lineage: str = ""
    batch: int = -1


@dataclass(frozen=True)
class Entry:
    """What the ledger of a lane says when it ends with a batch."""

    lane: int
    lineage: str
    batch: int
    lanes: int
    time: int
    offset: int = 0
    topics: Mapping[str, str] = field(default_factory=dict)
    ends: Mapping[str, Mapping[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Whole:
    """A batch of which every row was read, in the order of each partition."""

    lineage: str
    batch: int
    time: int
    changes: list[Change]


def parse_entry(lane: int, value: bytes, *, time: int, offset: int) -> Entry:
    """Read a record of the ledger, which stands at an offset of its partition."""
    told = json.loads(value)
    ends = {
        topic: {int(number): int(end) for number, end in partitions.items()}
        for topic, partitions in told.get("ends", {}).items()
    }
    return Entry(
        lane,
        told["lineage"],
        int(told["batch"]),
        int(told["lanes"]),
        time,
        offset,
        dict(told["topics"]),
        ends,
    )


def parse_stamp(headers: Iterable[tuple[str, bytes | None]]) -> tuple[str, int]:
    """Give the lineage and the batch that a record's header tells.

    Example:
        >>> parse_stamp([("headrace.batch", b"7f3a:12")])
        ('7f3a', 12)
    """
    for name, value in headers:
        if name == "headrace.batch" and value is not None:
            lineage, _, batch = value.decode("ascii").rpartition(":")
            return lineage, int(batch)
    return "", -1


Stamp = tuple[int, str, int]
"""How batches are ordered: the beginning of the lineage, the lineage, the batch."""

Ends = Mapping[Place, int]


class Assembly:
    """Records and ledger entries on their way to whole batches.

    Args:
        topics: The topics of the views.
        begun: Lineage, batch and time of the last batch that is held already.
        load: Is given the rows of the first batch and of all before it, as they come;
            so many are not kept here.
    """

    def __init__(
        self,
        topics: Iterable[str],
        *,
        begun: tuple[str, int, int] | None = None,
        load: Callable[[Change], None] | None = None,
    ) -> None:
        self._topics = frozenset(topics)
        self._load = load
        # A time at which each lineage was there: none begins before another's end.
        self._since: dict[str, int] = {}
        self._entries: dict[int, list[Entry]] = {}
        self._pending: dict[Place, list[Change]] = {}
        self._read: dict[Place, int] = {}
        self._held: tuple[str, int] | None = None
        self._base: tuple[Entry, Ends] | None = None
        if begun is not None:
            lineage, batch, time = begun
            self._since[lineage] = time
            self._held = lineage, batch

    def note(self, entry: Entry) -> None:
        """Note what a lane's ledger says next."""
        entries = self._entries.setdefault(entry.lane, [])
        if entry.lineage not in self._since:
            before = entries[-1].lineage if entries else (self._held or ("",))[0]
            # The ledger's order counts, where the clocks of two drivers differ.
            earliest = self._since.get(before, -1) + 1
            self._since[entry.lineage] = max(entry.time, earliest)
        entries.append(entry)

    def read(self, change: Change) -> Change | None:
        """Take a record; give it back if it is of no batch and counts at once."""
        place = change.topic, change.partition
        self._read[place] = change.offset + 1
        if self._held is not None:
            if not change.lineage:
                return change
            known = change.lineage in self._since
            if known and self._stamp(change.lineage, change.batch) <= self._last:
                return None
        elif self._base is not None and self._load is not None:
            entry, ends = self._base
            if self._belongs(change, self._order(entry), ends):
                self._load(change)
                return None
        self._pending.setdefault(place, []).append(change)
        return None

    def reach(self, topic: str, partition: int, offset: int) -> None:
        """Note that a partition was read up to here, whatever lies there."""
        place = topic, partition
        self._read[place] = max(self._read.get(place, 0), offset)

    def choose_base(self, trusted_since: int) -> Entry | None:
        """Choose the batch to begin with, from the entries so far.

        It is the last one before `trusted_since`: of those before, compaction may have
        taken rows that later batches have replaced. If there is none, the first.
        """
        if self._held is None and self._base is None:
            found = self._candidate(trusted_since)
            if found is not None:
                self._base = found, self._ends(self._order(found))
        return None if self._base is None else self._base[0]

    def next(self, trusted_since: int = 0) -> Whole | None:
        """Give the next batch, once all of it was read.

        Args:
            trusted_since: Batches that were written earlier are not told apart, but
                put together with the last one of them.
        """
        if self._held is None and self._base is not None:
            chosen, ends = self._base
        else:
            found = self._candidate(trusted_since)
            if found is None:
                return None
            chosen, ends = found, self._ends(self._order(found))
        if any(self._read.get(place, 0) < end for place, end in ends.items()):
            return None
        stamp = self._order(chosen)
        changes: list[Change] = []
        for place, waiting in self._pending.items():
            taken = [self._belongs(change, stamp, ends) for change in waiting]
            changes += compress(waiting, taken)
            self._pending[place] = [
                c for c, is_taken in zip(waiting, taken, strict=True) if not is_taken
            ]
        self._held = chosen.lineage, chosen.batch
        for entries in self._entries.values():
            del entries[: bisect_right(entries, stamp, key=self._order)]
        return Whole(chosen.lineage, chosen.batch, chosen.time, changes)

    def resume(self) -> dict[Place, int]:
        """Give the offsets to read on from after a restart."""
        return {
            place: self._pending[place][0].offset if self._pending.get(place) else end
            for place, end in self._read.items()
        }

    def waiting(self) -> dict[int, int]:
        """Give, by lane, the offset of the first entry that is not held yet."""
        return {
            lane: entries[0].offset
            for lane, entries in self._entries.items()
            if entries
        }

    @property
    def positions(self) -> dict[Place, int]:
        """How far each partition was read."""
        return dict(self._read)

    @property
    def _last(self) -> Stamp:
        return (0, "", -1) if self._held is None else self._stamp(*self._held)

    def _stamp(self, lineage: str, batch: int) -> Stamp:
        return self._since[lineage], lineage, batch

    def _order(self, entry: Entry) -> Stamp:
        return self._stamp(entry.lineage, entry.batch)

    def _holding(self, lane: int, stamp: Stamp) -> Entry | None:
        """Give a lane's first entry that holds a batch; of several alike the last.

        Two entries of one batch are there when the number of lanes was changed: the
        second one tells the ends of all lanes.
        """
        entries = self._entries.get(lane, [])
        place = bisect_left(entries, stamp, key=self._order)
        if place == len(entries):
            return None
        same = self._order(entries[place])
        return entries[bisect_right(entries, same, key=self._order) - 1]

    def _holders(self, stamp: Stamp) -> list[Entry] | None:
        """Give an entry of each lane that holds a batch; None if one does not yet."""
        first = self._holding(0, stamp)
        if first is None:
            return None
        found = [self._holding(lane, stamp) for lane in range(first.lanes)]
        held = [entry for entry in found if entry is not None]
        return held if len(held) == len(found) else None

    def _candidate(self, trusted_since: int) -> Entry | None:
        """Give the batch that comes next and that every lane holds."""
        last: Entry | None = None
        for entry in self._entries.get(0, []):
            stamp = self._order(entry)
            if stamp <= self._last:
                continue
            if self._holders(stamp) is None:
                break
            if entry.time >= trusted_since:
                return last or entry
            last = entry
        return last

    def _ends(self, stamp: Stamp) -> Ends:
        """Give where the rows of a batch end, in each partition that has any."""
        found: dict[Place, int] = {}
        for entry in self._holders(stamp) or ():
            for topic in self._topics & entry.ends.keys():
                for number, end in entry.ends[topic].items():
                    place = topic, number
                    found[place] = max(found.get(place, 0), end)
        return found

    def _belongs(self, change: Change, stamp: Stamp, ends: Ends) -> bool:
        if change.lineage in self._since:
            return self._stamp(change.lineage, change.batch) <= stamp
        # Of a checkpoint whose ledger is compacted away, or of none: by its place.
        return change.offset < ends.get((change.topic, change.partition), 0)
