"""Histories of captured tables: a database, its connector, and readers' batches.

The database is a small one, and runs transactions side by side: rows are locked until
a commit, a change has the LSN at which it was written, and the connector tells
transactions in the order of their commits. So what a table has to be in the end is
known from the database, whatever the topic says in between.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from support.models.table_model import NO_COMMIT, Change, Place, Row

KEYS = ("a", "b", "c", "d")
SECOND = 1_000_000
START = 1_772_359_200 * SECOND
PARTITIONS = 3

LARGE = "large " * 3


@dataclass(frozen=True)
class Told:
    """A change as the connector tells it, before it is in any partition."""

    key: str
    row: Row | None
    at: int
    place: Place | None
    is_snapshot: bool = False
    unsent: frozenset[str] = frozenset()


@dataclass
class _Write:
    key: str
    row: Row | None
    lsn: int
    unsent: frozenset[str] = frozenset()


@dataclass
class Database:
    """A table of a database, with its open transactions and its connector's log."""

    chance: random.Random
    is_full: bool = False
    rows: dict[str, Row] = field(default_factory=dict)
    open: list[list[_Write]] = field(default_factory=list)
    log: list[Told] = field(default_factory=list)
    # Where transactions begin in what the connector can still repeat.
    begins: list[int] = field(default_factory=list)
    lsn: int = 1000
    commit: int = NO_COMMIT
    now: int = START

    def step(self) -> None:
        """Let something happen."""
        acts = [self.write] * 8 + [self.end] * 4 + [self.repeat, self.snapshot]
        acts += [self.race, self.move, self.restore]
        self.chance.choice(acts)()

    def write(self) -> None:
        """Insert, update or delete a row, in a transaction that is open or begins."""
        key = self.chance.choice(KEYS)
        if self._is_locked(key):
            return
        row = self.rows.get(key)
        if row is None:
            self._begin_or_join([_Write(key, self._row(key), self._next())])
        elif self.chance.random() < 0.35:
            self._begin_or_join([_Write(key, None, self._next())])
        else:
            self._begin_or_join([self._update(key, row)])

    def move(self) -> None:
        """Change the key of a row: one is deleted and another inserted, at one LSN."""
        here, there = self.chance.sample(KEYS, 2)
        row = self.rows.get(here)
        locked = self._is_locked(here) or self._is_locked(there)
        if row is None or there in self.rows or locked:
            return
        if row["note"] == LARGE and not self.is_full:
            # The new row's note would not be sent, and nothing else tells it.
            return
        lsn = self._next()
        moved = row | {"id": there, "amount": self._amount()}
        self._begin_or_join([_Write(here, None, lsn), _Write(there, moved, lsn)])

    def race(self) -> None:
        """Insert a row whose deletion is under way: it was written before that."""
        free = [key for key in self.rows if not self._is_locked(key)]
        if not free:
            return
        key = self.chance.choice(free)
        first, second = self._next(), self._next()
        self._commit([_Write(key, None, second)])
        self._commit([_Write(key, self._row(key), first)])

    def end(self) -> None:
        """Commit a transaction, or roll it back."""
        if not self.open:
            return
        ended = self.open.pop(self.chance.randrange(len(self.open)))
        if self.chance.random() < 0.85:
            self._commit(ended)

    def repeat(self) -> None:
        """Let the connector die, and tell again what it has not noted as told."""
        if not self.begins:
            return
        again = self.log[self.chance.choice(self.begins) :]
        if self.chance.random() < 0.5:
            # It has come beyond its snapshot, and tells the changes alone.
            again = [t for t in again if t.place is not None and not t.is_snapshot]
        self.log += again

    def snapshot(self) -> None:
        """Let the connector read all rows.

        If it has lost its place in the database's log, it cannot go back any more,
        and the rows that are gone are told.
        """
        is_lost = self.chance.random() < 0.3
        position = self._next()
        self.now += self.chance.randrange(SECOND)
        for key in KEYS:
            if key in self.rows:
                row = self.rows[key]
                place = Place(self.commit, position)
                self.log.append(Told(key, row, self.now, place, is_snapshot=True))
            elif is_lost:
                self.log.append(Told(key, None, self.now, None))
        if is_lost:
            self.begins.clear()

    def restore(self) -> None:
        """Go back to a copy: LSNs begin again below, and the rest is told anew."""
        if self.chance.random() < 0.7:
            return
        self.open.clear()
        self.now += 10 * SECOND
        self.lsn = max(10, self.lsn - self.chance.randrange(500))
        self.commit = NO_COMMIT
        before, self.rows = self.rows, {}
        for key in KEYS:
            if self.chance.random() < 0.5:
                self.rows[key] = before.get(key, self._row(key))
        position = self._next()
        for key in KEYS:
            row = self.rows.get(key)
            place = None if row is None else Place(NO_COMMIT, position)
            told = Told(key, row, self.now, place, is_snapshot=row is not None)
            self.log.append(told)
        self.begins.clear()

    def _update(self, key: str, row: Row) -> _Write:
        changed = row | {"amount": self._amount()}
        if self.chance.random() < 0.4:
            changed |= self._note()
            return _Write(key, changed, self._next())
        unsent = row["note"] == LARGE and not self.is_full
        columns = frozenset({"note", "tags"} if unsent else ())
        return _Write(key, changed, self._next(), columns)

    def _begin_or_join(self, writes: list[_Write]) -> None:
        if self.open and self.chance.random() < 0.4:
            self.chance.choice(self.open).extend(writes)
        else:
            self.open.append(writes)

    def _commit(self, writes: list[_Write]) -> None:
        # Clocks are set back now and then.
        jump = self.chance.randrange(-1, 4) * SECOND // 2
        self.now = max(START, self.now + jump)
        self.begins.append(len(self.log))
        for write in writes:
            place = Place(self.commit, write.lsn)
            self.log.append(
                Told(write.key, write.row, self.now, place, unsent=write.unsent)
            )
            if write.row is None:
                self.rows.pop(write.key, None)
            else:
                self.rows[write.key] = write.row
        self.commit = self._next()

    def _is_locked(self, key: str) -> bool:
        return any(write.key == key for writes in self.open for write in writes)

    def _row(self, key: str) -> Row:
        return {"id": key, "amount": self._amount(), **self._note()}

    def _note(self) -> Row:
        note = self.chance.choice([None, "small", LARGE])
        return {"note": note, "tags": [LARGE] * 2 if note == LARGE else None}

    def _amount(self) -> int:
        return self.chance.randrange(1000)

    def _next(self) -> int:
        self.lsn += self.chance.randrange(1, 4)
        return self.lsn


def seeded(seed: object) -> random.Random:
    """Give what decides in a history, the same for the same seed."""
    return random.Random(str(seed))  # noqa: S311 - the same again is what is wanted


def lived(chance: random.Random, steps: int, *, is_full: bool = False) -> Database:
    """Give a database that has lived, every transaction of it ended.

    Args:
        chance: What decides.
        steps: How long it lives.
        is_full: Whether it sends whole rows.
    """
    database = Database(chance, is_full=is_full)
    if chance.random() < 0.7:
        database.rows = {
            key: database._row(key) for key in KEYS if chance.random() < 0.6
        }
        # What was written before the first snapshot may be committed after it.
        for _ in range(3):
            database.write()
        database.snapshot()
    for _ in range(steps):
        database.step()
    while database.open:
        database.end()
    return database


def partitioned(log: list[Told], partitions: int) -> list[Change]:
    """Put what was told into partitions, each key into one of them."""
    offsets = [0] * partitions
    found = []
    for told in log:
        partition = KEYS.index(told.key) % partitions
        found.append(_change(told, partition, offsets[partition]))
        offsets[partition] += 1
    return found


def regrown(log: list[Told], since: int) -> list[Change]:
    """Put what was told into one partition, and from a place on into others."""
    before = [_change(told, 0, offset) for offset, told in enumerate(log[:since])]
    after = partitioned(log[since:], PARTITIONS - 1)
    moved = [replace(change, partition=change.partition + 1) for change in after]
    return before + moved


def batched(
    changes: list[Change], chance: random.Random, batches: int
) -> Iterator[list[Change]]:
    """Read partitions side by side, each at a pace of its own."""
    parts: dict[int, list[Change]] = {}
    for change in changes:
        parts.setdefault(change.partition, []).append(change)
    for left in range(batches, 0, -1):
        batch = []
        for part in parts.values():
            most = len(part) if left == 1 else 2 * len(part) // left
            share = most if left == 1 else chance.randint(0, most)
            batch += part[:share]
            del part[:share]
        yield batch


def _change(told: Told, partition: int, offset: int) -> Change:
    return Change(
        told.key,
        told.row,
        told.at,
        partition,
        offset,
        told.place,
        told.is_snapshot,
        told.unsent,
    )


@dataclass
class History:
    """The batches of many databases' tables, which are read side by side.

    Attributes:
        way: How the topic tells changes: ``captured`` or ``upserts``.
        remembered: How long deletions are remembered, in microseconds.
        batches: The changes of each batch, by case.
        then: What comes after each batch: the next ``batch``, a ``restart`` or a
            ``crash``.
        rows: What each case's table is in the end; None where the order between
            partitions is not known, and only the model tells.
    """

    way: str
    remembered: int
    batches: list[dict[int, list[Change]]]
    then: list[str]
    rows: list[dict[str, Row] | None]

    def only(self, cases: list[int]) -> History:
        """Give the same history with these cases alone."""
        kept = [{c: b[c] for c in cases if c in b} for b in self.batches]
        return replace(self, batches=kept)


FOR_EVER = 2**62
PLANS = ("captured", "forgetful", "regrown", "upserts")


def history(seed: int, plan: str, cases: int) -> History:
    """Make a history; the same seed gives the same one."""
    chance = seeded(f"{plan} {seed}")
    count = chance.randrange(5, 9)
    batches: list[dict[int, list[Change]]] = [{} for _ in range(count)]
    rows: list[dict[str, Row] | None] = []
    for case in range(cases):
        # Whole rows, where a row may be forgotten that would fill what is not sent.
        full = plan != "captured" or chance.random() < 0.2
        database = lived(chance, chance.randrange(5, 40), is_full=full)
        changes = _read(plan, database.log, chance)
        for number, batch in enumerate(batched(changes, chance, count)):
            batches[number][case] = batch
        rows.append(database.rows if plan in {"captured", "forgetful"} else None)
    way = "upserts" if plan == "upserts" else "captured"
    remembered = FOR_EVER if plan == "captured" else 3 * SECOND
    then = [chance.choice(["batch", "batch", "restart", "crash"]) for _ in batches]
    return History(way, remembered, batches, then, rows)


def _read(plan: str, log: list[Told], chance: random.Random) -> list[Change]:
    if plan == "upserts":
        log = [replace(t, place=None, is_snapshot=False) for t in log]
    if plan in {"captured", "forgetful"} or chance.random() < 0.5:
        return partitioned(log, chance.randint(1, PARTITIONS))
    return regrown(log, chance.randint(0, len(log)))
