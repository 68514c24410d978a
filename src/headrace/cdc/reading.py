"""Have a connector read tables beside its work, by its own position.

The position says which tables are still to be read, and how far the first of them is.
A task that starts reads the first rows before it follows any change, in one thread, so
nothing can come between the two.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from time import monotonic, sleep
from typing import Any

from headrace.cdc.connect import ConnectCluster
from headrace.cdc.place import Capture
from headrace.cdc.snapshots import Progress, TableScan, read_progress
from headrace.cdc.systems import system_of
from headrace.cdc.topics import ends_of
from headrace.cdc.watching import PASSING
from headrace.errors import CaptureError

_TABLES = "incremental_snapshot_collections"
_TABLE = f"{_TABLES}_id"
_QUESTION = "incremental_snapshot_correlation_id"
_TRANSACTION = "txId"

_ATTEMPTS = 5
# A chunk of a thousand rows takes less, unless somebody holds a lock.
_STILL_SECONDS = 120.0
_ENDING_SECONDS = 30.0


def asking_for(offset: Mapping[str, Any], tables: Sequence[str]) -> dict[str, Any]:
    """Give a connector's position, with tables to be read from there.

    What it reads already goes on where it is, and is not asked for twice.

    Example:
        >>> asked = asking_for({"lsn": 7}, ["public.cards"])
        >>> asked["lsn"], asked["incremental_snapshot_collections"]
        (7, '[{"incremental_snapshot_collections_id": "public.cards"}]')
        >>> asking_for(asked, ["public.cards"]) == asked
        True
    """
    waiting = json.loads(offset.get(_TABLES) or "[]")
    known = {entry[_TABLE] for entry in waiting}
    new = [{_TABLE: table} for table in tables if table not in known]
    question = offset.get(_QUESTION) or str(uuid.uuid4())
    asked = {_TABLES: json.dumps([*waiting, *new]), _QUESTION: question}
    # A message outside of transactions leaves no number to compare chunks with; one
    # below all others gives them at once, and the changes behind them follow.
    return {_TRANSACTION: 0, **offset, **asked}


class Silence:
    """How long a connector has said nothing, though nothing kept it from speaking.

    Args:
        clock: Gives the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._heard, self._at = 0, clock()

    def lasts(self, heard: int, excused: bool) -> bool:
        """Tell whether it stands still, by how many notices there are by now."""
        if excused or heard != self._heard:
            self._heard, self._at = heard, self._clock()
        return self._clock() - self._at > _STILL_SECONDS


class Reading:
    """The reading of some tables, asked for again where it does not end by itself.

    Args:
        cluster: Kafka Connect.
        capture: The capture.
        tables: The tables.
        tell: Is told what happens.
    """

    def __init__(
        self,
        cluster: ConnectCluster,
        capture: Capture,
        tables: Sequence[str],
        tell: Callable[[str], None],
    ) -> None:
        self._cluster, self._capture, self._tables = cluster, capture, tables
        self._tell = tell
        self._since: Mapping[int, int] = {}
        self._read: dict[str, TableScan] = {}
        self._attempts = 0
        self._silence = Silence()

    def ask(self, config: Mapping[str, str] | None = None) -> None:
        """Let the connector start anew with the tables that are still to be read.

        Args:
            config: Other settings that it is to have from then on.

        Raises:
            CaptureError: [connect-unreachable], [connector-refused];
                [capture-unfinished] there is no position to go on from.
        """
        cluster, name = self._cluster, self._capture.connector
        try:
            cluster.stop(name)
            self._await_end()
            if config is not None:
                cluster.put(name, config)
            offset = cluster.offset(name)
            if offset is None:
                raise self._placeless()
            left = [table for table in self._tables if table not in self._read]
            # This also ends the transaction that a failed task has left open.
            cluster.move(name, asking_for(offset, left))
            self.progress()
            self._since = ends_of(self._capture.kafka, self._capture.notices)
        finally:
            # Also where the command is interrupted: a stopped capture falls behind.
            cluster.resume(name)
        self._silence = Silence()

    def progress(self) -> Progress:
        """Give how far the tables are.

        Raises:
            CaptureError: [capture-log-unreadable].
        """
        found = read_progress(self._capture, self._since)
        done = {t: scan for t, scan in found.tables.items() if found.holds([t])}
        self._read |= {t: scan for t, scan in done.items() if t in self._tables}
        found.tables = self._read | found.tables
        return found

    def judge(self, found: Progress, problems: Sequence[CaptureError]) -> None:
        """Ask again, if the connector has failed, left a table out or stands still.

        Args:
            found: How far the tables are.
            problems: What is wrong with the capture.

        Raises:
            CaptureError: [capture-failed], [capture-table-unread] it has done so too
                often; and all that `ask` raises.
        """
        for table in self._tables:
            scan = found.tables.get(table, TableScan())
            if scan.is_given_up:
                self._again(f"{table} was not read", self._unread(table, scan))
                return
        for problem in problems:
            if problem.slug == "capture-failed":
                self._again(f"the connector has failed: {problem.detail}", problem)
                return
        # A server that is away, or a lock, has to pass by itself.
        excused = any(problem.slug in PASSING for problem in problems)
        if self._silence.lasts(found.heard, excused):
            self._again("the connector stands still", None)

    def _again(self, why: str, last: CaptureError | None) -> None:
        """Ask again, unless that was done often enough; what stands is waited for."""
        if self._attempts < _ATTEMPTS:
            self._attempts += 1
            self._tell(f"{why}; starting it again ({self._attempts} of {_ATTEMPTS})")
            self.ask()
        elif last is not None:
            raise last

    def _await_end(self) -> None:
        """Wait for the task's last position: it lets the database go after that."""
        system, capture = system_of(self._capture), self._capture
        config = self._cluster.config(capture.connector) or {}
        deadline = monotonic() + _ENDING_SECONDS
        while system.standing(capture, config, None).reading:
            # A worker that hangs is fenced off when its position is altered.
            if monotonic() > deadline:
                return
            sleep(0.1)

    def _unread(self, table: str, scan: TableScan) -> CaptureError:
        return CaptureError(
            "capture-table-unread",
            f'the connector does not read table {table} of "{self._capture.database}"',
            detail=f"it tried {_ATTEMPTS + 1} times, and says: {scan.state}.",
            hint="`headrace logs connect` shows why; mend it, then "
            f"`headrace cdc add {self._capture.database} --tables {table}` again.",
        )

    def _placeless(self) -> CaptureError:
        return CaptureError(
            "capture-unfinished",
            f'the capture of "{self._capture.database}" has no position to go on from',
            detail="its first snapshot was not finished, or its position was deleted.",
            hint=f"`headrace cdc resnapshot {self._capture.database}` begins it anew.",
        )
