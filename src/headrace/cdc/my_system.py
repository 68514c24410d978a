"""MariaDB and MySQL as the source of changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.cdc.connector import binlog_settings
from headrace.cdc.my_catalogue import log_facts, logs_of
from headrace.cdc.my_describing import describe_table
from headrace.cdc.my_preparing import (
    drop_user,
    ensure_user,
    grant,
    require_capturable,
)
from headrace.cdc.my_session import Session, connected, server_of
from headrace.cdc.my_watching import MyWatch
from headrace.cdc.notes import Notes
from headrace.cdc.place import Capture
from headrace.cdc.systems import Offset, Standing
from headrace.cdc.topics import FOREVER, make_topic
from headrace.cdc.wishes import Login, Wish
from headrace.errors import CaptureError

_READING = (
    "select 1 from information_schema.processlist "
    "where user = %s and command like 'Binlog Dump%%'"
)


class MySystem:
    """MariaDB or MySQL: a user makes a capture; its place is kept by Connect alone."""

    # The connector knows the shape of the tables that its snapshot has read.
    adds_beside = False

    def require_new(self, capture: Capture, wish: Wish, _login: Login) -> None:
        """Refuse tables without a key, and a log that does not hold all changes."""
        if wish.publication is not None or wish.slot is not None:
            raise CaptureError(
                "capture-setting-refused",
                f'the capture of "{capture.database}" has no publication and no slot',
                detail="they are PostgreSQL's.",
                hint="leave out --publication and --slot.",
            )
        with connected(capture.url, capture.database) as session:
            require_capturable(session, wish.tables)

    def prepare(
        self, capture: Capture, wish: Wish, login: Login, tables: Sequence[str]
    ) -> dict[str, str]:
        """Make the user and the topic of the tables' shapes; note the log's file."""
        with connected(capture.url, capture.database) as session:
            require_capturable(session, tables)
            if login.password is not None:
                ensure_user(session, login.user, login.password, tables)
            grant(session, login.user, tables)
            make_topic(capture.kafka, capture.shapes, 1, FOREVER)
            return {"log": next(reversed(logs_of(session)))}

    def settings(
        self, capture: Capture, wish: Wish, notes: Notes, login: Login
    ) -> dict[str, str]:
        """Give the connector's settings."""
        with connected(capture.url, capture.database) as session:
            is_mariadb = log_facts(session).is_mariadb
        server = server_of(capture.url)
        return binlog_settings(capture, wish, notes, login, server, is_mariadb)

    def allow(self, capture: Capture, config: Mapping[str, str], notes: Notes) -> None:
        """Grant the user again what it needs."""
        with connected(capture.url, capture.database) as session:
            grant(session, config["database.user"], notes.tables)

    def writers(self, capture: Capture) -> Callable[[], bool]:
        """Ask for none: a snapshot locks them out."""
        return lambda: False

    def forget_place(self, capture: Capture, config: Mapping[str, str]) -> None:
        """Do nothing: the server keeps no place, and Connect's is forgotten."""

    def problems(
        self,
        capture: Capture,
        config: Mapping[str, str],
        notes: Notes,
        offset: Offset,
    ) -> list[CaptureError]:
        """Look at log, tables and rights."""
        with connected(capture.url, capture.database) as session:
            return MyWatch(session, capture.database, config, notes).problems(offset)

    def standing(
        self,
        capture: Capture,
        config: Mapping[str, str],
        offset: Mapping[str, Any] | None,
    ) -> Standing:
        """Measure how far the connector is behind the log."""
        with connected(capture.url, capture.database) as session:
            logs = logs_of(session)
            reading = session.one(_READING, config["database.user"]) is not None
            age = _age(session, offset or {})
        state = "is read" if reading else "is not read"
        if not offset or "file" not in offset:
            return Standing(f"the binary log {state}", reading=reading)
        file, place = str(offset["file"]), int(offset["pos"])
        if file not in logs:
            return Standing(f"{file} of the binary log is missing", reading=reading)
        sizes = [*logs.values()][[*logs].index(file) :]
        behind = sum(sizes) - place
        return Standing(
            place=f"the binary log {state}",
            position=f"{file}:{place}",
            behind_bytes=max(0, behind),
            behind_seconds=age,
            reading=reading,
        )

    def origin(self, offset: Mapping[str, Any]) -> dict[str, Any]:
        """Give a place as a change tells it."""
        return {
            "file": offset.get("file", ""),
            "pos": offset.get("pos", 0),
            "row": 0,
            "gtid": None,
        }

    def own_topics(self, capture: Capture) -> tuple[str, ...]:
        """Give the topic that holds the tables' shapes."""
        return (capture.shapes,)

    def remove(self, capture: Capture, config: Mapping[str, str]) -> list[str]:
        """Drop the user, if it is ours."""
        notes = Notes.read(config)
        if notes is None or notes.made_role is None:
            return []
        with connected(capture.url, capture.database) as session:
            dropped = drop_user(session, notes.made_role)
        return [f'user "{notes.made_role}"'] if dropped else []

    def describe(self, capture: Capture, table: str) -> str:
        """Give an event's class for the rows of a table, as Python."""
        with connected(capture.url, capture.database) as session:
            return describe_table(session, capture.database, table)


def _age(session: Session, offset: Mapping[str, Any]) -> float | None:
    """Give how old the last change in the log is, if another one follows it."""
    seen = offset.get("ts_sec")
    if seen is None:
        return None
    if log_facts(session).is_mariadb:
        last = session.one("select @@gtid_binlog_pos")
        if last and last in {offset.get("transaction_id"), offset.get("gtids")}:
            return 0.0
    now = float(session.one("select unix_timestamp(now(6))"))
    return max(0.0, now - float(seen))
