"""The embedded store of views: rows, what they were, and the batch they stand for.

One SQLite file for all views of a pipeline. Each batch is applied in one transaction,
together with the offsets to read on from, so a reader sees whole batches and a crash
leaves one of two neighbours. One process writes, any number of threads read.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from headrace.views.answers import Standing
from headrace.views.batches import Place
from headrace.views.store_reading import Reading

VERSION = 1

LEAST = timedelta(minutes=1)
"""So long every change is kept, for those who watch and were cut off."""

_TABLES = """
CREATE TABLE noted (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE revisions (
  revision INTEGER PRIMARY KEY, lineage TEXT NOT NULL, batch INTEGER NOT NULL,
  time INTEGER NOT NULL);
CREATE INDEX revisions_by_batch ON revisions (batch, revision);
CREATE INDEX revisions_by_time ON revisions (time, revision);
CREATE TABLE floors (view TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE newest (
  view TEXT NOT NULL, key BLOB NOT NULL, revision INTEGER NOT NULL,
  value BLOB NOT NULL, PRIMARY KEY (view, key)) WITHOUT ROWID;
CREATE TABLE past (
  view TEXT NOT NULL, key BLOB NOT NULL, until INTEGER NOT NULL,
  revision INTEGER NOT NULL, value BLOB NOT NULL,
  PRIMARY KEY (view, key, until)) WITHOUT ROWID;
CREATE TABLE feed (
  view TEXT NOT NULL, revision INTEGER NOT NULL, key BLOB NOT NULL,
  is_gone INTEGER NOT NULL, PRIMARY KEY (view, revision, key)) WITHOUT ROWID;
CREATE TABLE places (
  topic TEXT NOT NULL, partition INTEGER NOT NULL, resume INTEGER NOT NULL,
  seen INTEGER NOT NULL, PRIMARY KEY (topic, partition)) WITHOUT ROWID;
"""

Row = tuple[str, bytes, bytes | None]
"""A view, a key and its value; None takes the row away."""


@dataclass(frozen=True)
class Applied:
    """A batch to apply: its rows in order, and where to read on.

    Args:
        lineage: The checkpoint that the batch is of.
        batch: Its number.
        time: When it was written, in milliseconds since 1970.
        rows: What it changes; of several of a key the last counts.
        resume: Where to read on after a restart.
        seen: How far each partition was read.
    """

    lineage: str
    batch: int
    time: int
    rows: Iterable[Row]
    resume: Mapping[Place, int]
    seen: Mapping[Place, int]


class ViewStore:
    """The rows of a pipeline's views.

    Args:
        path: The file; it is made if it is missing.
        histories: How far back each view can be asked.

    Example:
        ``ViewStore(path, {"velocity": hours(1)}).reading.get("velocity", b"c1")``
    """

    def __init__(self, path: Path, histories: Mapping[str, timedelta]) -> None:
        self.path = path
        self._histories = dict(histories)
        self._writer = _connect(path)
        self._changed = threading.Condition()
        self._make()
        self.reading = Reading(lambda: _connect(path), self.epoch)

    @property
    def epoch(self) -> str:
        """The store's own mark: another one means that its revisions began anew."""
        return self.noted("epoch") or ""

    def noted(self, name: str) -> str | None:
        """Give what was noted under a name."""
        asked = "SELECT value FROM noted WHERE name = ?"
        found = self._writer.execute(asked, (name,)).fetchone()
        return None if found is None else str(found[0])

    def note(self, name: str, value: str) -> None:
        """Note something beside the rows."""
        with self._transaction() as writer:
            writer.execute("INSERT OR REPLACE INTO noted VALUES (?, ?)", (name, value))

    def clear(self) -> None:
        """Forget everything, to begin anew; readers are told so by a new epoch."""
        with self._transaction() as writer:
            for table in (
                "noted",
                "revisions",
                "floors",
                "newest",
                "past",
                "feed",
                "places",
            ):
                writer.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours
            self._begin(writer)
        self.reading.epoch = self.epoch
        self._tell()

    def places(self) -> dict[Place, tuple[int, int]]:
        """Give, by partition, where to read on and how far was read."""
        found = self._writer.execute("SELECT * FROM places").fetchall()
        return {(topic, number): (at, seen) for topic, number, at, seen in found}

    def standing(self) -> Standing | None:
        """Give the batch that the store stands for; None before the first."""
        return self.reading.standing()

    def load(self) -> Loader:
        """Take the rows of the first batch as they come; nobody sees them before."""
        self._writer.execute("BEGIN IMMEDIATE")
        return Loader(self._writer, tuple(self._histories), self._tell)

    def apply(self, batch: Applied) -> int:
        """Apply a batch; give the number of rows that it has changed."""
        with self._transaction() as writer:
            last = writer.execute(
                "SELECT coalesce(max(revision), 0), max(time) FROM revisions"
            ).fetchone()
            revision = int(last[0]) + 1
            # A clock that was set back must not make an earlier batch the later one.
            time = max(batch.time, last[1] or 0)
            changed = _change(writer, batch.rows, revision)
            _stand(writer, revision, batch, time)
            if revision == 1:
                writer.execute("UPDATE floors SET revision = 1")
            for view, history in self._histories.items():
                kept = max(history, LEAST) // timedelta(milliseconds=1)
                _forget(writer, view, time - kept)
            oldest = writer.execute("SELECT min(revision) FROM floors").fetchone()
            writer.execute("DELETE FROM revisions WHERE revision < ?", oldest)
        self._tell()
        return changed

    def amend(self, rows: Sequence[Row], seen: Mapping[Place, int]) -> None:
        """Apply rows that no batch has written, as a later state of the last one."""
        stands = self.standing()
        if stands is not None:
            time = milliseconds_of(stands)
            known = {place: at for place, (at, _) in self.places().items()}
            self.apply(Applied(stands.lineage, stands.batch, time, rows, known, seen))

    def await_after(self, revision: int, seconds: float) -> bool:
        """Wait until the store is beyond a revision; False if it is not in time."""

        def is_beyond() -> bool:
            stands = self.reading.standing()
            return stands is not None and stands.revision > revision

        with self._changed:
            return self._changed.wait_for(is_beyond, seconds)

    def close(self) -> None:
        """Close the writer's connection, and those of readers that are at rest."""
        self.reading.close()
        self._writer.close()
        self._tell()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            yield self._writer
            self._writer.execute("COMMIT")
        finally:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")

    def _make(self) -> None:
        (version,) = self._writer.execute("PRAGMA user_version").fetchone()
        if version not in {0, VERSION}:
            # What it holds is in the topics as well.
            self._writer.close()
            for end in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + end).unlink(missing_ok=True)
            self._writer = _connect(self.path)
            version = 0
        with self._transaction() as writer:
            if version == 0:
                for statement in _TABLES.split(";"):
                    writer.execute(statement)
                writer.execute(f"PRAGMA user_version = {VERSION}")
                self._begin(writer)
            for view in self._histories:
                writer.execute("INSERT OR IGNORE INTO floors VALUES (?, 0)", (view,))

    def _begin(self, writer: sqlite3.Connection) -> None:
        epoch = uuid4().hex[:12]
        writer.execute("INSERT OR REPLACE INTO noted VALUES ('epoch', ?)", (epoch,))
        for view in self._histories:
            writer.execute("INSERT OR IGNORE INTO floors VALUES (?, 0)", (view,))

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()


class Loader:
    """Takes the rows of a first batch, without a history.

    Args:
        writer: A connection with an open transaction.
        views: The names of the views.
        tell: Is called when the batch is there.
    """

    def __init__(
        self,
        writer: sqlite3.Connection,
        views: Sequence[str],
        tell: Callable[[], None],
    ) -> None:
        self._writer = writer
        self._views = views
        self._tell = tell

    def take(self, row: Row) -> None:
        """Take a row, or that it is gone."""
        view, key, value = row
        if value is None:
            asked = "DELETE FROM newest WHERE view = ? AND key = ?"
            self._writer.execute(asked, (view, key))
        else:
            asked = "INSERT OR REPLACE INTO newest VALUES (?, ?, 1, ?)"
            self._writer.execute(asked, (view, key, value))

    def note(self, name: str, value: str) -> None:
        """Note something beside the rows."""
        asked = "INSERT OR REPLACE INTO noted VALUES (?, ?)"
        self._writer.execute(asked, (name, value))

    def finish(self, batch: Applied) -> None:
        """Stand for a batch from now on."""
        for row in batch.rows:
            self.take(row)
        _stand(self._writer, 1, batch, batch.time)
        floors = [(1, view) for view in self._views]
        self._writer.executemany(
            "UPDATE floors SET revision = ? WHERE view = ?", floors
        )
        self._writer.execute("COMMIT")
        self._tell()

    def abandon(self) -> None:
        """Undo all of it, unless it is finished."""
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")


def _change(writer: sqlite3.Connection, rows: Iterable[Row], revision: int) -> int:
    net = {(view, key): value for view, key, value in rows}
    changed = 0
    for (view, key), value in net.items():
        place = (view, key)
        asked = "SELECT revision, value FROM newest WHERE view = ? AND key = ?"
        before = writer.execute(asked, place).fetchone()
        if value == (None if before is None else before[1]):
            # The same row again, or the end of one that never was: nothing to tell.
            continue
        changed += 1
        if before is not None:
            asked = "INSERT INTO past VALUES (?, ?, ?, ?, ?)"
            writer.execute(asked, (*place, revision, *before))
        if value is None:
            writer.execute("DELETE FROM newest WHERE view = ? AND key = ?", place)
        else:
            asked = "INSERT OR REPLACE INTO newest VALUES (?, ?, ?, ?)"
            writer.execute(asked, (*place, revision, value))
        asked = "INSERT INTO feed VALUES (?, ?, ?, ?)"
        writer.execute(asked, (view, revision, key, value is None))
    return changed


def _stand(
    writer: sqlite3.Connection, revision: int, batch: Applied, time: int
) -> None:
    asked = "INSERT INTO revisions VALUES (?, ?, ?, ?)"
    writer.execute(asked, (revision, batch.lineage, batch.batch, time))
    places = [
        (topic, number, batch.resume.get((topic, number), seen), seen)
        for (topic, number), seen in batch.seen.items()
    ]
    writer.executemany("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)", places)


def _forget(writer: sqlite3.Connection, view: str, before: int) -> None:
    """Forget what a view's rows were before a time."""
    (floor,) = writer.execute(
        "SELECT max(revision) FROM revisions WHERE time <= ?", (before,)
    ).fetchone()
    (known,) = writer.execute(
        "SELECT revision FROM floors WHERE view = ?", (view,)
    ).fetchone()
    if floor is None or floor <= known:
        return
    writer.execute(
        "DELETE FROM past WHERE (view, key, until) IN "
        "(SELECT view, key, revision FROM feed WHERE view = ? AND revision <= ?)",
        (view, floor),
    )
    writer.execute("DELETE FROM feed WHERE view = ? AND revision <= ?", (view, floor))
    writer.execute("UPDATE floors SET revision = ? WHERE view = ?", (floor, view))


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    # A power cut may take the last batches; they are in the topics still.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA busy_timeout = 10000")
    return connection


def milliseconds_of(stands: Standing) -> int:
    """Give the time of a batch as Kafka counts it."""
    return 0 if stands.at is None else round(stands.at.timestamp() * 1000)
