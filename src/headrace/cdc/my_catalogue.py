"""What MariaDB or MySQL says about its log, its tables and its accounts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from headrace.cdc.my_session import Session

GLOBAL_RIGHTS = ("RELOAD", "REPLICATION SLAVE", "REPLICATION CLIENT")
"""What a connector needs of a server: to lock for a moment, and to read its log."""

# MariaDB calls the third right otherwise.
_SAME_RIGHTS = {"BINLOG MONITOR": "REPLICATION CLIENT"}

_TABLES = """
select concat(t.table_schema, '.', t.table_name), t.table_type,
  (select group_concat(k.column_name order by k.ordinal_position)
   from information_schema.key_column_usage k
   where k.table_schema = t.table_schema and k.table_name = t.table_name
     and k.constraint_name = 'PRIMARY')
from information_schema.tables t
where concat(t.table_schema, '.', t.table_name) in %s
"""

_COLUMNS = """
select column_name, column_type, data_type, is_nullable = 'NO',
  numeric_precision, numeric_scale
from information_schema.columns
where concat(table_schema, '.', table_name) = %s order by ordinal_position
"""


@dataclass(frozen=True)
class LogFacts:
    """A server and how it writes its binary log.

    Args:
        version: The server's version, as it gives it.
        log_bin: Whether it writes a log.
        form: The log's format, such as ``ROW``.
        row_image: How much of a row it holds, such as ``FULL``.
        left_out: Databases that it leaves out.
        kept_alone: Databases beside which it leaves out all; none if that is empty.
        shortened: A setting by which rows are written in a form that the connector
            passes over without a word; None if there is none.
    """

    version: str
    log_bin: bool
    form: str
    row_image: str
    left_out: frozenset[str] = frozenset()
    kept_alone: frozenset[str] = frozenset()
    shortened: str | None = None

    @property
    def is_mariadb(self) -> bool:
        """Whether it is MariaDB; otherwise it is MySQL."""
        return "mariadb" in self.version.lower()

    @property
    def number(self) -> tuple[int, ...]:
        """The version's first two numbers."""
        found = re.match(r"(\d+)\.(\d+)", self.version)
        return tuple(map(int, found.groups())) if found else (0, 0)

    def lacks(self, table: str) -> bool:
        """Tell whether the log leaves a table's database out."""
        schema = table.partition(".")[0]
        return schema in self.left_out or (
            bool(self.kept_alone) and schema not in self.kept_alone
        )


@dataclass(frozen=True)
class MyTable:
    """A table as the server describes it."""

    name: str
    kind: str
    key: tuple[str, ...]


@dataclass(frozen=True)
class MyColumn:
    """A column as the server describes it."""

    name: str
    shown: str
    type_name: str
    required: bool
    precision: int | None
    scale: int | None


def log_facts(session: Session) -> LogFacts:
    """Say how a server writes its log."""
    version, log_bin, form, image = session.rows(
        "select @@version, @@log_bin, @@global.binlog_format, @@global.binlog_row_image"
    )[0]
    facts = LogFacts(version, bool(log_bin), form, image)
    if not log_bin:
        return facts
    shown = "master status"
    if not facts.is_mariadb and facts.number >= (8, 4):
        shown = "binary log status"
    _, _, alone, out, *_ = session.rows(f"show {shown}")[0]
    return replace(
        facts,
        left_out=_names(out),
        kept_alone=_names(alone),
        shortened=_shortened(session),
    )


def _shortened(session: Session) -> str | None:
    rows = session.rows(
        "show global variables where variable_name in "
        "('log_bin_compress', 'binlog_row_value_options')"
    )
    found = [f"{name} = {value.lower()}" for name, value in rows]
    return next((f for f in found if not f.endswith((" = ", " = off"))), None)


def logs_of(session: Session) -> dict[str, int]:
    """Give the files of the log that are there, with their sizes, oldest first."""
    return {name: int(size) for name, size, *_ in session.rows("show binary logs")}


def tables_of(session: Session, names: Sequence[str]) -> dict[str, MyTable]:
    """Describe those of the named tables that exist."""
    if not names:
        return {}
    return {
        name: MyTable(name, kind, tuple(key.split(",")) if key else ())
        for name, kind, key in session.rows(_TABLES, tuple(names))
    }


def columns_of(session: Session, table: str) -> list[MyColumn]:
    """Describe the columns of a table."""
    return [
        MyColumn(name, shown, type_name.lower(), bool(required), precision, scale)
        for name, shown, type_name, required, precision, scale in session.rows(
            _COLUMNS, table
        )
    ]


def hosts_of(session: Session, user: str) -> list[str]:
    """Give the hosts that a user may come from: each is an account of its own."""
    rows = session.rows("select host from mysql.user where user = %s", user)
    return sorted(host for (host,) in rows)


def rights_of(session: Session, user: str) -> dict[str, set[str]]:
    """Give what a user may do, by ``*``, database or table."""
    found: dict[str, set[str]] = {}
    places = {
        "user_privileges": "'*'",
        "schema_privileges": "table_schema",
        "table_privileges": "concat(table_schema, '.', table_name)",
    }
    for table, place in places.items():
        rows = session.rows(
            f"select {place}, privilege_type from information_schema.{table} "  # noqa: S608
            "where substring_index(grantee, '@', 1) = %s",
            f"'{user}'",
        )
        for where, right in rows:
            found.setdefault(where, set()).add(_SAME_RIGHTS.get(right, right))
    return found


def missing_rights(session: Session, user: str, tables: Sequence[str]) -> list[str]:
    """Say what a user may not do that a capture needs.

    Of users that we may not look at, nothing is said: the connector will.
    """
    import pymysql  # noqa: PLC0415 - only work on captures needs it

    try:
        if not hosts_of(session, user):
            return [f'there is no user "{user}"']
    except pymysql.MySQLError:
        return []
    rights = rights_of(session, user)
    everywhere = rights.get("*", set())
    found = [f'user "{user}" has no {r}' for r in GLOBAL_RIGHTS if r not in everywhere]
    for table in tables:
        places = ("*", table.partition(".")[0], table)
        if not any("SELECT" in rights.get(place, set()) for place in places):
            found.append(f'user "{user}" may not select from {table}')
    return found


def _names(text: str | None) -> frozenset[str]:
    return frozenset(name.strip() for name in (text or "").split(",") if name.strip())
