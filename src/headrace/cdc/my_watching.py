"""What can go wrong with a capture inside MariaDB or MySQL, each by its name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from headrace.cdc.my_catalogue import log_facts, logs_of, missing_rights, tables_of
from headrace.cdc.my_preparing import why_unsupported
from headrace.cdc.my_session import Session
from headrace.cdc.notes import Notes
from headrace.cdc.preparing import AGAIN, rights_lost, table_gone
from headrace.cdc.systems import Offset
from headrace.errors import CaptureError


class MyWatch:
    """One look at a captured server.

    Args:
        session: The server.
        database: The capture's name.
        config: The connector's settings.
        notes: What the capture was when it was whole.
    """

    def __init__(
        self,
        session: Session,
        database: str,
        config: Mapping[str, str],
        notes: Notes,
    ) -> None:
        self._session, self._database = session, database
        self._config, self._notes = config, notes

    def problems(self, offset: Offset) -> list[CaptureError]:
        """Say what is wrong, the worst first.

        Args:
            offset: Asks for the position that the connector has committed.
        """
        return [
            *self._log(),
            *self._place(offset),
            *self._tables(),
            *self._rights(),
        ]

    def _log(self) -> Iterator[CaptureError]:
        reason = why_unsupported(log_facts(self._session), self._notes.tables)
        if reason is not None:
            yield CaptureError(
                "capture-unsupported",
                f'the server of "{self._database}" no longer logs every change',
                detail=f"{reason}; changes may be missing from the log.",
                hint="set binlog_format = row, binlog_row_image = full, no compression "
                "and no filter of databases; then " + AGAIN.format(self._database),
            )

    def _place(self, offset: Offset) -> Iterator[CaptureError]:
        reason = self._why_lost(offset() or {})
        if reason is not None:
            # The connector may have gone on, and the server deleted what it had read.
            reason = self._why_lost(offset() or {})
        if reason is not None:
            yield CaptureError(
                "capture-binlog-lost",
                f'the server of "{self._database}" no longer has the log that the '
                "capture needs",
                detail=f"{reason}; changes since then may be missing.",
                hint=AGAIN.format(self._database),
            )

    def _why_lost(self, committed: Mapping[str, Any]) -> str | None:
        file, place = committed.get("file"), int(committed.get("pos") or 0)
        is_logging = bool(self._session.one("select @@log_bin"))
        logs = logs_of(self._session) if is_logging else {}
        return why_lost(logs, self._notes.identity.get("log"), file, place)

    def _tables(self) -> Iterator[CaptureError]:
        there = tables_of(self._session, self._notes.tables)
        for table in self._notes.tables:
            found = there.get(table)
            if found is None:
                yield table_gone(self._database, table)
            elif not found.key:
                yield CaptureError(
                    "capture-key-missing",
                    f"table {table} no longer says which row a change is about",
                    detail="its primary key was dropped.",
                    hint=f"alter table {table} add primary key (...); then "
                    + AGAIN.format(self._database),
                )

    def _rights(self) -> Iterator[CaptureError]:
        user = self._config["database.user"]
        tables = [*tables_of(self._session, self._notes.tables)]
        lacking = missing_rights(self._session, user, tables)
        if lacking:
            yield rights_lost(self._database, lacking)


def why_lost(
    logs: Mapping[str, int], noted: str | None, file: str | None, place: int
) -> str | None:
    """Say why a place is not in a server's log, if it is not.

    Args:
        logs: The log's files with their sizes, oldest first.
        noted: The file that was written when the capture was made.
        file: The file of the place; None before there is one.
        place: The place in it.

    Example:
        >>> why_lost({"bin.000004": 900}, "bin.000001", "bin.000002", 4)
        'bin.000002 was purged'
        >>> why_lost({"bin.000001": 300}, "bin.000001", "bin.000001", 900)
        'bin.000001 ends before the place 900: the log was begun anew'
    """
    last = next(reversed([*logs]), None)
    begun_anew = noted is not None and (last is None or _number(last) < _number(noted))
    if begun_anew:
        return f"the log was begun anew: {noted} is behind its end"
    if file is None:
        return None
    if file not in logs:
        return f"{file} was purged"
    if logs[file] < place:
        return f"{file} ends before the place {place}: the log was begun anew"
    return None


def _number(file: str) -> int:
    found = re.search(r"\.(\d+)$", file)
    return int(found.group(1)) if found else 0
