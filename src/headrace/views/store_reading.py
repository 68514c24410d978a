"""Read the embedded store: each read sees one whole batch, and names it."""

from __future__ import annotations

import base64
import contextlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from headrace.errors import ViewError
from headrace.views.answers import NOW, AsOf, Standing, moment_text

_STANDING = "SELECT lineage, batch, revision, time FROM revisions"
_ROW = """
SELECT value FROM newest WHERE view = ?1 AND key = ?2 AND revision <= ?3
UNION ALL
SELECT value FROM past
WHERE view = ?1 AND key = ?2 AND revision <= ?3 AND until > ?3
"""
_ROWS = """
SELECT key, value FROM newest
WHERE view = ?1 AND key >= ?2 AND key < ?3 AND revision <= ?4
UNION ALL
SELECT key, value FROM past
WHERE view = ?1 AND key >= ?2 AND key < ?3 AND revision <= ?4 AND until > ?4
ORDER BY key LIMIT ?5
"""
_NEWEST_ROWS = """
SELECT key, value FROM newest WHERE view = ?1 AND key >= ?2 AND key < ?3
ORDER BY key LIMIT ?4
"""
_FEED = """
SELECT f.revision, f.key, f.is_gone, n.value, p.value
FROM feed f
LEFT JOIN newest n
  ON n.view = f.view AND n.key = f.key AND n.revision = f.revision
LEFT JOIN past p
  ON p.view = f.view AND p.key = f.key AND p.revision = f.revision
WHERE f.view = ?1 AND (f.revision, f.key) > (?2, ?3)
ORDER BY f.revision, f.key LIMIT ?4
"""
_MOST_BYTES = 4 * 1024 * 1024
# Behind every key: no UTF-8 text has this byte.
_BEHIND = b"\xff"


@dataclass(frozen=True)
class Cursor:
    """Where a scan goes on: as of which revision, behind which key."""

    epoch: str
    revision: int
    key: bytes

    def text(self) -> str:
        """Give it as a text without a meaning."""
        key = base64.b64encode(self.key).decode()
        told = json.dumps([self.epoch, self.revision, key]).encode()
        return base64.urlsafe_b64encode(told).decode()

    @classmethod
    def read(cls, text: str) -> Cursor:
        """Read what `text` gave.

        Raises:
            ViewError: [view-request-refused] it is none.
        """
        try:
            epoch, revision, key = json.loads(base64.urlsafe_b64decode(text))
            return cls(str(epoch), int(revision), base64.b64decode(key))
        except (ValueError, TypeError) as error:
            raise ViewError(
                "view-request-refused",
                "the cursor is none that a scan has given",
                hint="give the cursor of the page before as it is.",
            ) from error


@dataclass(frozen=True)
class Told:
    """A change of the feed, with the batch that it came with."""

    key: bytes
    value: bytes | None
    standing: Standing


class Reading:
    """Reads of the store, from any thread.

    Args:
        connect: Opens the store's file.
        epoch: The store's own mark.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], epoch: str) -> None:
        self._connect = connect
        self.epoch = epoch
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def standing(self) -> Standing | None:
        """Give the batch that the store stands for; None before the first."""
        with self._snapshot() as reader:
            return _newest(reader)

    def get(
        self, view: str, key: bytes, as_of: AsOf = NOW
    ) -> tuple[bytes | None, Standing]:
        """Give the row of a key, or None.

        Raises:
            ViewError: [view-not-ready], [view-history-short], [view-batch-unknown].
        """
        with self._snapshot() as reader:
            stands = self._find(reader, view, as_of)
            found = reader.execute(_ROW, (view, key, stands.revision)).fetchone()
            return (None if found is None else found[0]), stands

    def scan(
        self,
        view: str,
        prefix: bytes,
        limit: int,
        *,
        as_of: AsOf = NOW,
        cursor: str | None = None,
    ) -> tuple[list[tuple[bytes, bytes]], Standing, str | None]:
        """Give rows in the order of their keys, and a cursor if there are more.

        Raises:
            ViewError: [view-not-ready], [view-history-short], [view-batch-unknown],
                [view-request-refused] the cursor is none.
        """
        begin, end = prefix, prefix + _BEHIND
        with self._snapshot() as reader:
            if cursor is None:
                stands = self._find(reader, view, as_of)
            else:
                place = Cursor.read(cursor)
                stands = self._at(reader, view, place.epoch, place.revision)
                begin = max(begin, place.key + b"\0")
            newest = _newest(reader)
            if newest is not None and newest.revision == stands.revision:
                asked = (view, begin, end, limit + 1)
                found = reader.execute(_NEWEST_ROWS, asked).fetchall()
            else:
                past = (view, begin, end, stands.revision, limit + 1)
                found = reader.execute(_ROWS, past).fetchall()
        more = None
        fitting = _fitting(found[:limit])
        if len(found) > fitting:
            found = found[:fitting]
            more = Cursor(self.epoch, stands.revision, found[-1][0]).text()
        return found, stands, more

    def feed(self, view: str, after: tuple[str, int, bytes], limit: int) -> list[Told]:
        """Give what has changed behind a place, each change once and in order.

        Args:
            view: Whose changes.
            after: The store's mark, a revision, and a key in it.
            limit: How many at the most.

        Raises:
            ViewError: [view-history-short] the place is no longer known.
        """
        epoch, revision, key = after
        with self._snapshot() as reader:
            self._at(reader, view, epoch, revision)
            rows = reader.execute(_FEED, (view, revision, key, limit)).fetchall()
            known: dict[int, Standing] = {}
            told = []
            for number, changed, is_gone, newest, past in rows:
                if number not in known:
                    known[number] = _of_revision(reader, number)
                value = None if is_gone else (newest if newest is not None else past)
                told.append(Told(changed, value, known[number]))
            return told

    @contextlib.contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection that sees one state of the file."""
        with self._lock:
            reader = self._idle.pop() if self._idle else None
        reader = reader or self._connect()
        try:
            reader.execute("BEGIN")
            yield reader
        finally:
            if reader.in_transaction:
                reader.execute("COMMIT")
            with self._lock:
                is_kept = not self._is_closed
                if is_kept:
                    self._idle.append(reader)
            if not is_kept:
                reader.close()

    def _find(self, reader: sqlite3.Connection, view: str, as_of: AsOf) -> Standing:
        newest = _newest(reader)
        if newest is None:
            raise _not_ready(view)
        if as_of.is_now:
            return newest
        floor = _floor(reader, view)
        if as_of.batch is not None:
            return _of_batch(reader, view, as_of.batch, newest, floor)
        at = as_of.time or datetime.now(UTC)
        milliseconds = int(at.timestamp() * 1000)
        asked = f"{_STANDING} WHERE time <= ? ORDER BY revision DESC LIMIT 1"
        found = _read(reader.execute(asked, (milliseconds,)).fetchone())
        if found is None or found.revision < floor:
            raise _short(view, f"at {moment_text(at)}", _of_revision(reader, floor))
        return found

    def _at(
        self, reader: sqlite3.Connection, view: str, epoch: str, revision: int
    ) -> Standing:
        newest = _newest(reader)
        if newest is None:
            raise _not_ready(view)
        floor = _floor(reader, view)
        if epoch != self.epoch or not floor <= revision <= newest.revision:
            raise _short(view, "at this place", _of_revision(reader, floor))
        return _of_revision(reader, revision)


def _fitting(rows: list[tuple[bytes, bytes]]) -> int:
    """Tell how many rows an answer has room for: one at the least."""
    size = 0
    for number, (key, value) in enumerate(rows):
        size += len(key) + len(value)
        if size > _MOST_BYTES and number > 0:
            return number
    return len(rows)


def _newest(reader: sqlite3.Connection) -> Standing | None:
    asked = f"{_STANDING} ORDER BY revision DESC LIMIT 1"
    return _read(reader.execute(asked).fetchone())


def _of_revision(reader: sqlite3.Connection, revision: int) -> Standing:
    asked = f"{_STANDING} WHERE revision = ?"
    found = _read(reader.execute(asked, (revision,)).fetchone())
    if found is None:
        raise LookupError(f"revision {revision} is not in the store")
    return found


def _of_batch(
    reader: sqlite3.Connection, view: str, batch: int, newest: Standing, floor: int
) -> Standing:
    asked = f"{_STANDING} WHERE batch = ? ORDER BY revision DESC LIMIT 1"
    found = _read(reader.execute(asked, (batch,)).fetchone())
    if found is not None and found.revision >= floor:
        return found
    oldest = _of_revision(reader, floor)
    if found is None and batch > oldest.batch:
        reason = (
            f"the newest is {newest.batch}."
            if batch > newest.batch
            else "it was put together with a later one when the store caught up."
        )
        raise ViewError(
            "view-batch-unknown",
            f'view "{view}" does not hold batch {batch} by itself',
            detail=reason,
            hint="ask for a batch that a read has named, or as of a time.",
        )
    raise _short(view, f"of batch {batch}", oldest)


def _floor(reader: sqlite3.Connection, view: str) -> int:
    asked = "SELECT revision FROM floors WHERE view = ?"
    found = reader.execute(asked, (view,)).fetchone()
    return 0 if found is None else int(found[0])


def _read(found: tuple[str, int, int, int] | None) -> Standing | None:
    if found is None:
        return None
    lineage, batch, revision, time = found
    return Standing(lineage, batch, revision, datetime.fromtimestamp(time / 1000, UTC))


def _not_ready(view: str) -> ViewError:
    return ViewError(
        "view-not-ready",
        f'view "{view}" holds no batch yet',
        detail="the pipeline has written none, or the store is still being filled.",
        hint="start the pipeline with `headrace run`, and ask again.",
    )


def _short(view: str, when: str, oldest: Standing) -> ViewError:
    began = "no known time" if oldest.at is None else moment_text(oldest.at)
    return ViewError(
        "view-history-short",
        f'view "{view}" no longer knows its rows {when}',
        detail=f"its history begins with batch {oldest.batch}, written at {began}.",
        hint="ask for a later state, or keep more: view(..., history=hours(24)).",
    )
