"""Fill the log with a snapshot, so that it ends row for row equal to the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from time import monotonic, sleep

from headrace.cdc.connect import ConnectCluster
from headrace.cdc.connector import NOTICES
from headrace.cdc.notes import SETTING, Notes
from headrace.cdc.place import Capture
from headrace.cdc.reading import Reading
from headrace.cdc.snapshots import Progress, await_snapshot, note_beginning
from headrace.cdc.systems import system_of
from headrace.cdc.topics import ends_of
from headrace.cdc.vanished import KeyCensus, delete_vanished
from headrace.cdc.watching import PASSING, problems
from headrace.errors import CaptureError

# Raised by a capture that is being filled; they end with it.
_EXPECTED = PASSING | {"capture-unfinished", "capture-snapshot-repeated"}
_LOOK_SECONDS = 5.0


def topic_ends(
    capture: Capture, tables: Sequence[str]
) -> dict[str, dict[str, int]] | None:
    """Give where the tables' topics end; None if nothing was ever written to them."""
    ends = {table: ends_of(capture.kafka, capture.topic(table)) for table in tables}
    if not any(end for by_partition in ends.values() for end in by_partition.values()):
        return None
    return {
        table: {str(partition): end for partition, end in by_partition.items()}
        for table, by_partition in ends.items()
    }


class Filling:
    """Snapshots of a capture, from the question to the last deletion.

    Args:
        cluster: Kafka Connect.
        capture: The capture.
        tell: Is told what happens.
    """

    def __init__(
        self, cluster: ConnectCluster, capture: Capture, tell: Callable[[str], None]
    ) -> None:
        self._cluster, self._capture, self._tell = cluster, capture, tell
        self._looked_at = 0.0
        self._told = ""

    def mark(self) -> dict[int, int]:
        """Note that a capture begins, and give where its notices will stand."""
        since = ends_of(self._capture.kafka, self._capture.notices)
        note_beginning(self._capture)
        return since

    def anew(self, config: Mapping[str, str], notes: Notes) -> int:
        """Let a stopped connector begin with a new snapshot; give rows deleted.

        Raises:
            CaptureError: What stands in the way; the capture stays unfinished.
        """
        capture, name = self._capture, self._capture.connector
        system_of(capture).forget_place(capture, config)
        notes = replace(notes, unfinished=topic_ends(capture, notes.tables))
        config = {**config, SETTING: notes.text, "snapshot.mode": "initial"}
        self._cluster.forget_offset(name)
        # An outbox gives no notices, and has no topic for them.
        since = self.mark() if NOTICES in config else {}
        self._cluster.put(name, config)
        self._cluster.resume(name)
        return self.finish(since, config, notes)

    def finish(
        self, since: Mapping[int, int], config: Mapping[str, str], notes: Notes
    ) -> int:
        """Wait for the first snapshot, and say what it no longer holds.

        Raises:
            CaptureError: What stands in the way.
        """
        if NOTICES not in config:
            self.await_reading(config)
            return 0
        no_data = config["snapshot.mode"] == "no_data"
        progress = await_snapshot(
            self._capture,
            since,
            lambda found: found.state == "done" or (no_data and found.starts > 0),
            self._watch,
        )
        if progress.repeated:
            self._tell("the snapshot was broken off and begun again; reading anew")
            self._cluster.stop(self._capture.connector)
            return self.anew(config, notes)
        self._tell(_counted(progress))
        return 0 if notes.unfinished is None else self.compare(config, notes)

    def await_reading(self, config: Mapping[str, str]) -> None:
        """Wait until the connector reads changes; for one that gives no notices.

        Raises:
            CaptureError: What stands in the way.
        """
        system, cluster = system_of(self._capture), self._cluster
        while True:
            state = cluster.state(self._capture.connector)
            runs = state is not None and state.is_running
            if runs and system.standing(self._capture, config, None).reading:
                return
            self._watch(Progress())
            sleep(0.3)

    def change(self, config: Mapping[str, str]) -> None:
        """Give a running connector other settings, and wait until it has them.

        Raises:
            CaptureError: What stands in the way.
        """
        capture = self._capture
        since = ends_of(capture.kafka, capture.notices)
        self._cluster.put(capture.connector, config)
        await_snapshot(capture, since, lambda found: found.starts > 0, self._watch)

    def settle(self) -> None:
        """Wait for a first snapshot that is under way: it must not be broken off.

        Raises:
            CaptureError: What stands in the way.
        """
        await_snapshot(
            self._capture, {}, lambda found: found.state != "running", self._watch
        )

    def await_writers(self) -> None:
        """Wait for transactions that had begun before tables were published.

        What such a one has written to them is told by nobody, and can be read only
        when it has ended.

        Raises:
            CaptureError: [database-unreachable], [capture-blocked].
        """
        go_on = system_of(self._capture).writers(self._capture)
        while go_on():
            self._tell_once("waiting for transactions that have begun to write")
            sleep(0.3)

    def read(
        self, tables: Sequence[str], config: Mapping[str, str] | None = None
    ) -> None:
        """Have a connector read tables beside its work, and wait for it.

        Args:
            tables: The tables.
            config: Other settings that the connector is to have from then on.

        Raises:
            CaptureError: What stands in the way.
        """
        reading = Reading(self._cluster, self._capture, tables, self._tell)
        reading.ask(config)
        while not (found := reading.progress()).holds(tables):
            self._say(found)
            seen = self._look({"capture-failed"})
            if seen is not None:
                reading.judge(found, seen)
            sleep(0.3)
        self._tell(_counted(found))

    def compare(self, config: Mapping[str, str], notes: Notes) -> int:
        """Write deletions for what the snapshot does not hold, then go on.

        Raises:
            CaptureError: What stands in the way; the capture stays unfinished.
        """
        capture, name = self._capture, self._capture.connector
        before = notes.unfinished or {}
        censuses = {t: KeyCensus(capture, capture.topic(t)) for t in before}
        # The long part while the connector works, the rest while it stands still.
        for census in censuses.values():
            census.read_on()
        self._cluster.stop(name)
        origin = system_of(capture).origin(self._cluster.offset(name) or {})
        deleted = 0
        for table, census in censuses.items():
            census.read_on()
            ends = {int(n): end for n, end in before[table].items()}
            gone = census.vanished(ends)
            deleted += delete_vanished(capture, capture.topic(table), gone, origin)
        finished = replace(notes, unfinished=None)
        self._cluster.put(name, {**config, SETTING: finished.text})
        self._cluster.resume(name)
        self._tell(f"{deleted} row(s) deleted that are no longer there")
        return deleted

    def _watch(self, progress: Progress) -> None:
        """Raise what will keep a snapshot from ending."""
        self._say(progress)
        self._look()

    def _say(self, progress: Progress) -> None:
        self._tell_once(_counted(progress))

    def _tell_once(self, news: str) -> None:
        if news != self._told:
            self._told = news
            self._tell(news)

    def _look(self, borne: Set[str] = frozenset()) -> list[CaptureError] | None:
        """Give what is wrong with the capture, every few seconds; or raise it."""
        if monotonic() - self._looked_at < _LOOK_SECONDS:
            return None
        self._looked_at = monotonic()
        found = problems(self._capture)
        for problem in found:
            if problem.slug not in _EXPECTED | borne:
                raise problem
        return found


def _counted(progress: Progress) -> str:
    if not progress.tables:
        started = progress.starts > 0
        return "the connector has started" if started else "waiting for the connector"
    return ", ".join(
        f"{table} {scan.state}" + ("" if scan.rows is None else f" ({scan.rows} rows)")
        for table, scan in sorted(progress.tables.items())
    )
