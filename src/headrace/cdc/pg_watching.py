"""What can go wrong with a capture inside PostgreSQL, each by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from headrace.cdc.notes import Notes
from headrace.cdc.pg_catalogue import (
    missing_rights,
    publication_of,
    slot_of,
    tables_hidden_from,
    tables_of,
)
from headrace.cdc.pg_preparing import rows_hidden
from headrace.cdc.preparing import AGAIN, rights_lost, table_gone
from headrace.cdc.systems import Offset
from headrace.errors import CaptureError

if TYPE_CHECKING:
    from psycopg import Connection


class PgWatch:
    """One look at a captured database.

    Args:
        connection: The database.
        database: Its name.
        config: The connector's settings.
        notes: What the capture was when it was whole.
    """

    def __init__(
        self,
        connection: Connection[Any],
        database: str,
        config: Mapping[str, str],
        notes: Notes,
    ) -> None:
        self._connection, self._database = connection, database
        self._config, self._notes = config, notes

    def problems(self, offset: Offset) -> list[CaptureError]:
        """Say what is wrong, the worst first.

        Args:
            offset: Asks for the position that the connector has committed. The slot
                follows it, so the slot is looked at first.
        """
        return [
            *self._slot(offset),
            *self._publication(),
            *self._tables(),
            *self._rights(),
        ]

    def _slot(self, offset: Offset) -> Iterator[CaptureError]:
        name = self._config["slot.name"]
        slot = slot_of(self._connection, name)
        committed = (offset() or {}).get("lsn")
        if slot is None:
            # Before its first snapshot a connector has made none.
            if committed is not None:
                yield CaptureError(
                    "capture-slot-missing",
                    f'replication slot "{name}" of the capture of '
                    f'"{self._database}" was dropped',
                    detail="changes since then are not in the log.",
                    hint=AGAIN.format(self._database),
                )
        elif slot.is_lost:
            yield CaptureError(
                "capture-slot-lost",
                f'replication slot "{name}" has lost WAL that it needed',
                detail=f"PostgreSQL says: {slot.reason or 'wal_removed'}; "
                "max_slot_wal_keep_size was exceeded, most likely.",
                hint=AGAIN.format(self._database),
            )
        elif committed is not None and _is_ahead(slot.restart_lsn, committed):
            yield self._moved("it was dropped and made anew")
        elif committed is not None and _is_ahead(slot.confirmed_lsn, committed):
            yield self._moved("somebody else has read from it or advanced it")

    def _moved(self, how: str) -> CaptureError:
        return CaptureError(
            "capture-slot-moved",
            f'replication slot "{self._config["slot.name"]}" is ahead of what the '
            "log holds",
            detail=f"{how}; changes before its place are not in the log.",
            hint=AGAIN.format(self._database),
        )

    def _publication(self) -> Iterator[CaptureError]:
        name = self._config["publication.name"]
        found = publication_of(self._connection, name)
        noted = self._notes.identity
        if found is None:
            yield self._unpublished(f'publication "{name}" was dropped')
            return
        if found.entry != noted.get("publication"):
            yield self._unpublished(f'publication "{name}" was altered or made anew')
        for table in self._notes.tables:
            entry = found.members.get(table)
            if entry is None:
                yield self._unpublished(f'publication "{name}" lacks table {table}')
            elif entry != noted.get(f"table {table}"):
                fact = f'table {table} was taken out of publication "{name}" and put in'
                yield self._unpublished(fact)

    def _unpublished(self, fact: str) -> CaptureError:
        return CaptureError(
            "capture-publication-missing",
            fact,
            detail="PostgreSQL passes over what is not published without a word, so "
            "changes may be missing from the log.",
            hint=AGAIN.format(self._database),
        )

    def _tables(self) -> Iterator[CaptureError]:
        there = tables_of(self._connection, self._notes.tables)
        for table in self._notes.tables:
            facts = there.get(table)
            if facts is None:
                yield table_gone(self._database, table)
            elif not facts.key or facts.replica_identity == "n":
                yield CaptureError(
                    "capture-key-missing",
                    f"table {table} no longer says which row a change is about",
                    detail="its primary key was dropped, or its replica identity is "
                    "nothing.",
                    hint=f"alter table {table} add primary key (...), replica "
                    "identity default; then " + AGAIN.format(self._database),
                )

    def _rights(self) -> Iterator[CaptureError]:
        role = self._config["database.user"]
        tables = [*tables_of(self._connection, self._notes.tables)]
        lacking = missing_rights(self._connection, role, tables)
        if lacking:
            yield rights_lost(self._database, lacking)
        hidden = tables_hidden_from(self._connection, role, tables)
        if hidden:
            yield rows_hidden(role, hidden)


def _is_ahead(slot: int | None, committed: int) -> bool:
    return slot is not None and slot > committed
