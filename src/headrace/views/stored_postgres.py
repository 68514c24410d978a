"""Read views that are kept in a table of PostgreSQL, with the ledger beside it."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
from psycopg.sql import SQL, Composable, Composed, Identifier, Literal

from headrace.plan.view import View
from headrace.plan.view_sinks import SCHEMA
from headrace.schema.types import (
    Binary,
    Day,
    Field,
    FieldType,
    Moment,
    Truth,
    Uuid,
    Whole,
)
from headrace.views.answers import NOW, AsOf, Standing
from headrace.views.stored import (
    Rows,
    cursor_of,
    key_of,
    require_now,
    standing_of,
    unreachable,
)

_LEDGER = SQL(
    "select record::text, written_at from headrace_delivery.ledger "
    "where sink = {} and record is not null"
)
_KEYED: dict[type[FieldType], SQL] = {
    Whole: SQL("bigint"),
    Uuid: SQL("uuid"),
    Truth: SQL("boolean"),
    Day: SQL("date"),
}


class PostgresRows:
    """The rows of a view in PostgreSQL.

    A read is one transaction: with one lane, it sees the batch that it names.

    Args:
        view: The view.
        address: The database's, as the sink is given it.
    """

    def __init__(self, view: View, address: str) -> None:
        self._view = view
        self._address = address
        # One after the other: a transaction is the connection's.
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        self._table = Identifier(SCHEMA, view.target)
        self._key = Identifier(view.key_column)
        fields: list[Composable] = [
            SQL("{}, {}").format(Literal(field.name), _told(field))
            for field in view.columns
        ]
        self._row = SQL("json_build_object({})::text").format(SQL(", ").join(fields))

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()

    def get(
        self, view: str, key: bytes, as_of: AsOf = NOW
    ) -> tuple[bytes | None, Standing]:
        """Give the row of a key, or None.

        Raises:
            ViewError: [view-not-ready], [view-without-history],
                [view-store-unreachable].
        """
        require_now(self._view, as_of)
        kind = _KEYED.get(type(self._view.columns[self._view.key_column].type))
        asked = SQL("select {} from {} where {} = {}::{}").format(
            self._row,
            self._table,
            self._key,
            Literal(key.decode()),
            kind or SQL("text"),
        )
        stands, found = self._ask(asked)
        return (found[0][0].encode() if found else None), stands

    def scan(
        self,
        view: str,
        prefix: bytes,
        limit: int,
        *,
        as_of: AsOf = NOW,
        cursor: str | None = None,
    ) -> tuple[Rows, Standing, str | None]:
        """Give rows in the order of their keys.

        Raises:
            ViewError: As `get`; [view-request-refused] the cursor is none.
        """
        require_now(self._view, as_of)
        begin = prefix.decode()
        after = None if cursor is None else key_of(cursor, bytes.decode)
        key = SQL('{}::text collate "C"').format(self._key)
        asked = SQL(
            "select {key}, {row} from {table} where starts_with({key}, {begin}) "
            "and {key} > {after} order by 1 limit {limit}"
        ).format(
            key=key,
            row=self._row,
            table=self._table,
            begin=Literal(begin),
            after=Literal(after or ""),
            limit=Literal(limit + 1),
        )
        stands, found = self._ask(asked)
        rows = [(told.encode(), row.encode()) for told, row in found[:limit]]
        more = None
        if len(found) > limit:
            more = cursor_of(rows[-1][0])
        return rows, stands, more

    def _ask(self, asked: Composed) -> tuple[Standing, list[tuple[str, ...]]]:
        """Ask for rows and for what they reflect, in one transaction."""
        try:
            return self._read(asked)
        except psycopg.errors.UndefinedTable:
            return standing_of([], self._view, at=None, is_exact=True), []
        except psycopg.Error as error:
            raise unreachable(self._view, error) from error

    def _read(self, asked: Composed) -> tuple[Standing, list[tuple[str, ...]]]:
        with self._lock:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(self._address, connect_timeout=10)
                self._connection.isolation_level = (
                    psycopg.IsolationLevel.REPEATABLE_READ
                )
                self._connection.read_only = True
            with self._connection.transaction():
                sink = Literal(f"{self._view.pipeline}.{self._view.output}")
                ledger = self._connection.execute(_LEDGER.format(sink)).fetchall()
                at = max((row[1] for row in ledger), default=None)
                records = [row[0] for row in ledger]
                stands = standing_of(records, self._view, at=at, is_exact=True)
                return stands, self._connection.execute(asked).fetchall()


def _told(field: Field) -> Composable:
    """Give a column as the JSON of the other stores has it."""
    name = Identifier(field.name)
    match field.type:
        case Moment():
            form = 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
            return SQL("to_char({} at time zone 'UTC', {})").format(name, Literal(form))
        case Binary():
            return SQL("replace(encode({}, 'base64'), chr(10), '')").format(name)
    return name
