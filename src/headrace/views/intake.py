"""Take records and ledger entries into the store, in whatever order they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping

from headrace.views.batches import Assembly, Change, Entry, Place, Whole
from headrace.views.store import Applied, Row, ViewStore, milliseconds_of


class GoneError(Exception):
    """What was read before is not what is there now: the store has to begin anew."""


class Intake:
    """One attempt to follow: from what the store holds, until it is closed.

    Args:
        store: Where the rows go.
        topics: The views by their topics.
        progress: The topic of the ledger; a lane is a partition of it.
    """

    def __init__(
        self, store: ViewStore, topics: Mapping[str, str], progress: str
    ) -> None:
        self._store = store
        self._topics = dict(topics)
        self._progress = progress
        self._ledger_read: dict[int, int] = {}
        self._ids: str | None = None
        self._strays: list[Row] = []
        # What was read before a restart was applied then.
        self._seen = {place: seen for place, (_, seen) in store.places().items()}
        stands = store.standing()
        if stands is None:
            self._loader = store.load()
            self._assembly = Assembly(
                topics, load=lambda change: self._loader.take(self._row(change))
            )
        else:
            begun = stands.lineage, stands.batch, milliseconds_of(stands)
            self._assembly = Assembly(topics, begun=begun)
        self.is_loading = stands is None

    def close(self) -> None:
        """End the attempt; rows of a batch that is not whole are read again."""
        if self.is_loading:
            self._loader.abandon()

    def resume(self) -> dict[Place, int]:
        """Give where to read on, by partition; where nothing is told, all of it."""
        return {place: at for place, (at, _) in self._store.places().items()}

    def note(self, entry: Entry) -> None:
        """Take an entry of the ledger.

        Raises:
            GoneError: A topic is not the one that was read before.
        """
        self._ledger_read[entry.lane] = entry.offset + 1
        ids = {topic: entry.topics.get(topic) for topic in self._topics}
        if None in ids.values():
            # Of a time before the view was declared.
            return
        told = json.dumps(ids, sort_keys=True)
        known = self._ids or self._store.noted("topics")
        if known is not None and known != told:
            raise GoneError("a view was added, or its topic was made anew")
        self._ids = told
        self._assembly.note(entry)

    def take(self, change: Change) -> None:
        """Take a record of a view's topic."""
        stray = self._assembly.read(change)
        place = change.topic, change.partition
        if stray is not None and change.offset >= self._seen.get(place, 0):
            self._strays.append(self._row(stray))

    def reach(self, topic: str, partition: int, offset: int) -> None:
        """Note that a partition was read up to here, whatever lies there."""
        if topic == self._progress:
            self._ledger_read[partition] = offset
        else:
            self._assembly.reach(topic, partition, offset)

    def choose_base(self, trusted_since: int) -> bool:
        """Tell whether it is known with which batch an empty store begins."""
        return self._assembly.choose_base(trusted_since) is not None

    def advance(self, trusted_since: int) -> int:
        """Apply what is whole by now; give the number of batches."""
        applied = 0
        if self._strays:
            self._store.amend(self._strays, self._assembly.positions)
            self._strays = []
        while (whole := self._assembly.next(trusted_since)) is not None:
            applied += 1
            batch = self._applied(whole)
            if self.is_loading:
                self._loader.note("topics", self._ids or "")
                self._loader.finish(batch)
                self.is_loading = False
            else:
                self._store.apply(batch)
        return applied

    def _applied(self, whole: Whole) -> Applied:
        waiting = self._assembly.waiting()
        read = {(self._progress, lane): at for lane, at in self._ledger_read.items()}
        first = {(self._progress, lane): at for lane, at in waiting.items()}
        return Applied(
            whole.lineage,
            whole.batch,
            whole.time,
            [self._row(change) for change in whole.changes],
            self._assembly.resume() | read | first,
            self._assembly.positions | read,
        )

    def _row(self, change: Change) -> Row:
        return self._topics[change.topic], change.key, change.value
