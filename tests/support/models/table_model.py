"""Tables in plain Python, by the words of the documentation.

A table is fed with changes, batch by batch, and gives the net change of each key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Row = dict[str, Any]

NO_COMMIT = -1


class ValueNotSentError(Exception):
    """A value that the database did not send is not known from before."""


@dataclass(frozen=True, order=True)
class Place:
    """Where a change is in its database's log: the last commit before it, its own."""

    commit: int
    lsn: int

    @property
    def reach(self) -> int:
        """The position that a snapshot which holds this change cannot lie below."""
        return max(self.commit, self.lsn)

    def is_reached(self, seen: Place) -> bool:
        """Tell whether a change of the same key that was seen lies here or behind."""
        if self.commit == NO_COMMIT != seen.commit:
            # Told again, or by a connector that was made anew and has no commit yet.
            return self.lsn <= seen.lsn
        return self <= seen


@dataclass(frozen=True)
class Change:
    """A change as it was read; `row` is None for a deletion."""

    key: str
    row: Row | None
    at: int
    partition: int
    offset: int
    place: Place | None = None
    is_snapshot: bool = False
    unsent: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Net:
    """What a batch has changed of a key."""

    before: Row | None
    after: Row | None
    position: int | None
    at: int


@dataclass(frozen=True)
class Kept:
    """What is known of a key: the row, and how far its changes were seen."""

    row: Row | None
    last: Change
    latest: int
    streamed: Place | None
    snapshot: int | None
    forgotten_at: int | None = None


@dataclass
class Table:
    """A table that follows the changes of its keys.

    Args:
        captured: Whether a connector tells the changes, with their places.
        remembered: For how many microseconds a deletion is remembered.
    """

    captured: bool = True
    remembered: int = 2**62
    kept: dict[str, Kept] = field(default_factory=dict)
    outdated: int = 0

    def batch(self, changes: Sequence[Change], watermark: int = 0) -> dict[str, Net]:
        """Apply a batch; give its net changes, and forget old deletions.

        Args:
            changes: What came, in any order.
            watermark: How far event time had come before it, in milliseconds.
        """
        given: dict[str, Net] = {}
        for key in sorted({change.key for change in changes}):
            net = self._of_key([c for c in changes if c.key == key], watermark)
            if net is not None:
                given[key] = net
        for key, kept in list(self.kept.items()):
            if kept.forgotten_at is not None and kept.forgotten_at <= watermark:
                del self.kept[key]
        return given

    @property
    def rows(self) -> dict[str, Row]:
        """The rows by their keys."""
        return {k: kept.row for k, kept in self.kept.items() if kept.row is not None}

    def _of_key(self, changes: list[Change], watermark: int) -> Net | None:
        before = kept = self.kept.get(changes[0].key)
        last = None
        for change in merged(changes):
            if kept is not None and self._is_outdated(change, kept):
                self.outdated += 1
                continue
            kept = self._after(change, kept)
            last = change
        if kept is None or last is None:
            return None
        if kept.row is None:
            kept = replace(kept, forgotten_at=self._forgotten(kept.latest, watermark))
        self.kept[last.key] = kept
        old = None if before is None else before.row
        if old == kept.row:
            return None
        position = last.place.lsn if last.place else None
        return Net(old, kept.row, position if self.captured else last.offset, last.at)

    def _is_outdated(self, change: Change, kept: Kept) -> bool:
        last = kept.last
        if not self.captured:
            before = (change.at, change.partition) < (kept.latest, last.partition)
            return before and change.partition != last.partition
        # Only what is repeated, or comes from another partition, can be outdated.
        if change.place is None or change.at > kept.latest:
            return False
        lsn = change.place.lsn
        if change.is_snapshot:
            known = kept.streamed is not None and lsn < kept.streamed.reach
            return known or (kept.snapshot is not None and lsn <= kept.snapshot)
        if kept.streamed is not None and change.place.is_reached(kept.streamed):
            return True
        if change.partition == last.partition or not last.is_snapshot:
            return False
        return kept.snapshot is not None and lsn < kept.snapshot

    def _after(self, change: Change, kept: Kept | None) -> Kept:
        row = change.row
        if row is not None and change.unsent:
            if kept is None or kept.row is None:
                raise ValueNotSentError(change.key)
            row = row | {name: kept.row[name] for name in change.unsent}
        position = None if change.place is None else change.place.lsn
        if kept is None or not _goes_on(kept, change, position):
            kept = Kept(None, change, change.at, None, None)
        latest = max(kept.latest, change.at)
        if change.is_snapshot:
            held = kept.snapshot if position is None else position
            return Kept(row, change, latest, kept.streamed, held)
        return Kept(row, change, latest, change.place, kept.snapshot)

    def _forgotten(self, at: int, watermark: int) -> int:
        """Give the watermark that ends the memory of a deletion."""
        return (max(at, watermark * 1000) + self.remembered) // 1000 + 1


def _goes_on(kept: Kept, change: Change, position: int | None) -> bool:
    """Tell whether the database has not gone back, and has told the change itself."""
    if position is None:
        return False
    known = [kept.streamed.reach] if kept.streamed else []
    known += [] if kept.snapshot is None else [kept.snapshot]
    return not change.is_snapshot or all(one <= position for one in known)


def merged(changes: Iterable[Change]) -> list[Change]:
    """Put a key's changes into order: by offset, and between partitions by place."""
    parts: dict[int, list[Change]] = {}
    for change in sorted(changes, key=lambda c: (c.partition, c.offset)):
        parts.setdefault(change.partition, []).append(change)
    found = []
    while any(parts.values()):
        first = min((part[0] for part in parts.values() if part), key=_order)
        found.append(parts[first.partition].pop(0))
    return found


def _order(change: Change) -> tuple[Any, ...]:
    place = change.place
    known = (0, 0, 0) if place is None else (1, place.commit, place.lsn)
    return (*known, change.at, change.partition)
