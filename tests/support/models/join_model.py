"""A join of two streams in plain Python, by the words of its documentation.

Nothing is forgotten here and each row is compared with all others of its key, so it is
short enough to be read and believed. Times are microseconds, watermarks milliseconds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

KINDS = ("inner", "left", "right", "full", "semi", "anti")


@dataclass(frozen=True)
class Joining:
    """A join: its kind, and how far the right time may be beyond the left one."""

    kind: str
    least: int
    most: int
    late: str = "side-output"

    def hold(self, side: str) -> int:
        """Give how long after its time a partner of a row may come."""
        return self.most if side == "left" else -self.least


@dataclass(frozen=True)
class Row:
    """A row of a side; `number` is its own, `key` and `at` may be unknown."""

    side: str
    number: int
    key: str | None
    at: int | None


Pair = tuple[int | None, int | None]


@dataclass
class Told:
    """What a batch gives: results by the numbers of their rows, and late rows."""

    results: Counter[Pair] = field(default_factory=Counter)
    late: Counter[tuple[str, int, int | None]] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)


class Join:
    """A join that has seen some batches."""

    def __init__(self, step: Joining) -> None:
        self._step = step
        self._rows: dict[str | None, list[Row]] = defaultdict(list)
        self._matched: set[Row] = set()
        self._over: set[Row] = set()

    @property
    def waiting(self) -> int:
        """How many rows have had no partner yet, and may have one."""
        came = sum(len(rows) for rows in self._rows.values())
        return came - len(self._matched) - len(self._over)

    def batch(self, rows: Iterable[Row], watermark: int) -> Told:
        """Take a batch's rows under its watermark."""
        told = Told()
        for row in rows:
            told.counts["in"] += 1
            if row.at is None or row.at < watermark * 1000:
                self._late(row, watermark, told)
                continue
            for other in self._rows[row.key]:
                self._meet(row, other, told)
            self._rows[row.key].append(row)
        for row in (row for rows in self._rows.values() for row in rows):
            self._judge(row, watermark, told)
        return told

    def _late(self, row: Row, watermark: int, told: Told) -> None:
        told.counts["late"] += 1
        if self._step.late != "drop":
            by = None if row.at is None else (watermark * 1000 - row.at) // 1000
            told.late[row.side, row.number, by] += 1

    def _meet(self, row: Row, other: Row, told: Told) -> None:
        if row.side == other.side or row.key is None:
            return
        left, right = (row, other) if row.side == "left" else (other, row)
        assert left.at is not None
        assert right.at is not None
        if not self._step.least <= right.at - left.at <= self._step.most:
            return
        if self._step.kind == "semi" and left not in self._matched:
            told.results[left.number, None] += 1
        if self._step.kind not in {"semi", "anti"}:
            told.results[left.number, right.number] += 1
        for one in (left, right):
            told.counts["matched"] += one not in self._matched
            self._matched.add(one)

    def _judge(self, row: Row, watermark: int, told: Told) -> None:
        """Tell a row that has had no partner, when none can come any more."""
        assert row.at is not None
        is_over = row.at + self._step.hold(row.side) < watermark * 1000
        # Without a key there is nothing to wait for.
        is_decided = row in self._matched or row in self._over
        if is_decided or not (is_over or row.key is None):
            return
        self._over.add(row)
        told.counts["unmatched"] += 1
        kinds = {"left": {"left", "full", "anti"}, "right": {"right", "full"}}
        if self._step.kind in kinds[row.side]:
            is_left = row.side == "left"
            found = (row.number, None) if is_left else (None, row.number)
            told.results[found] += 1
