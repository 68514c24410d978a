"""PostgreSQL as the source of changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.cdc.connect import ConnectCluster
from headrace.cdc.connector import postgres_settings
from headrace.cdc.notes import Notes
from headrace.cdc.own_connector import outdated, require_own_connector
from headrace.cdc.pg_catalogue import (
    Publication,
    open_transactions,
    slot_of,
)
from headrace.cdc.pg_describing import describe_table
from headrace.cdc.pg_preparing import (
    PgNames,
    allow_login,
    drop_made,
    drop_slot,
    ensure_publication,
    ensure_role,
    grant,
    require_capturable,
    require_free_slot,
    require_whole,
)
from headrace.cdc.pg_session import connected
from headrace.cdc.pg_watching import PgWatch
from headrace.cdc.place import Capture
from headrace.cdc.systems import Offset, Standing
from headrace.cdc.wishes import Login, Wish
from headrace.errors import CaptureError


class PgSystem:
    """PostgreSQL: a role, a publication and a replication slot make a capture."""

    adds_beside = True

    def require_new(self, capture: Capture, wish: Wish, login: Login) -> None:
        """Refuse tables without a key or with hidden rows, and a slot that exists."""
        require_own_connector(ConnectCluster(capture.connect))
        with connected(capture.url, capture.database) as connection:
            require_capturable(connection, wish.tables)
            require_whole(connection, login.user, wish.tables)
            require_free_slot(connection, wish.slot or capture.slot)

    def prepare(
        self, capture: Capture, wish: Wish, login: Login, tables: Sequence[str]
    ) -> dict[str, str]:
        """Make role and publication; give by what the latter is known again."""
        with connected(capture.url, capture.database) as connection:
            require_capturable(connection, tables)
            if login.password is not None:
                ensure_role(connection, login.user, login.password, capture.database)
            grant(connection, login.user, tables)
            require_whole(connection, login.user, tables)
            name = wish.publication or capture.slot
            found = ensure_publication(connection, name, tables, capture.database)
        return identity_of(found, tables)

    def settings(
        self, capture: Capture, wish: Wish, notes: Notes, login: Login
    ) -> dict[str, str]:
        """Give the connector's settings."""
        return postgres_settings(capture, wish, notes, login)

    def allow(self, capture: Capture, config: Mapping[str, str], notes: Notes) -> None:
        """Grant the role again what it needs."""
        with connected(capture.url, capture.database) as connection:
            allow_login(connection, config["database.user"], capture.database)
            grant(connection, config["database.user"], notes.tables)

    def writers(self, capture: Capture) -> Callable[[], bool]:
        """Ask for the transactions that have a number by now."""
        with connected(capture.url, capture.database) as connection:
            _, limit = open_transactions(connection)

        def go_on() -> bool:
            with connected(capture.url, capture.database) as connection:
                lowest, _ = open_transactions(connection)
            return lowest < limit

        return go_on

    def forget_place(self, capture: Capture, config: Mapping[str, str]) -> None:
        """Drop the slot: a snapshot is exact in the transaction that makes one."""
        with connected(capture.url, capture.database) as connection:
            drop_slot(connection, config["slot.name"])

    def problems(
        self,
        capture: Capture,
        config: Mapping[str, str],
        notes: Notes,
        offset: Offset,
    ) -> list[CaptureError]:
        """Look at slot, publication, tables and rights."""
        with connected(capture.url, capture.database) as connection:
            watch = PgWatch(connection, capture.database, config, notes)
            found = watch.problems(offset)
        return found + outdated(capture.database, config)

    def standing(
        self,
        capture: Capture,
        config: Mapping[str, str],
        offset: Mapping[str, Any] | None,
    ) -> Standing:
        """Measure how far slot and connector are behind."""
        name = config["slot.name"]
        with connected(capture.url, capture.database) as connection:
            slot = slot_of(connection, name)
            row = connection.execute("select extract(epoch from now())").fetchone()
        if slot is None:
            return Standing(f'slot "{name}" is missing')
        seen = (offset or {}).get("ts_usec")
        age = float(row[0]) - seen / 1e6 if row and seen else None
        state = "lost" if slot.is_lost else "active" if slot.active else "inactive"
        return Standing(
            place=f'slot "{name}" is {state}',
            position=None if slot.confirmed_lsn is None else lsn(slot.confirmed_lsn),
            held_bytes=slot.held_bytes,
            behind_bytes=slot.behind_bytes,
            behind_seconds=None if age is None else max(0.0, age),
            reading=slot.active,
        )

    def origin(self, offset: Mapping[str, Any]) -> dict[str, Any]:
        """Give a place as a change tells it."""
        place = offset.get("lsn", 0)
        sequence = json.dumps([None, str(place)])
        return {"lsn": place, "sequence": sequence, "txId": None}

    def own_topics(self, capture: Capture) -> tuple[str, ...]:
        """Give none."""
        return ()

    def remove(self, capture: Capture, config: Mapping[str, str]) -> list[str]:
        """Drop the slot, and publication and role if they are ours."""
        names = PgNames(
            config["database.user"], config["publication.name"], config["slot.name"]
        )
        with connected(capture.url, capture.database) as connection:
            return drop_made(connection, names, capture.database)

    def describe(self, capture: Capture, table: str) -> str:
        """Give an event's class for the rows of a table, as Python."""
        with connected(capture.url, capture.database) as connection:
            return describe_table(connection, capture.database, table)


def identity_of(found: Publication, tables: Sequence[str]) -> dict[str, str]:
    """Give by what a publication and its tables are known again."""
    entries = {f"table {table}": found.members[table] for table in tables}
    return {"publication": found.entry, **entries}


def lsn(number: int) -> str:
    """Give an LSN as PostgreSQL writes it.

    Example:
        >>> lsn(28882184)
        '0/1B8B508'
    """
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"
