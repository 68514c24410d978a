"""What MariaDB or MySQL says about its log, its tables and its accounts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from headrace.errors import CaptureError

if TYPE_CHECKING:
    from pymysql.connections import Connection

PORT = 3306
GLOBAL_RIGHTS = ("RELOAD", "REPLICATION SLAVE", "REPLICATION CLIENT")
"""What a connector needs of a server: to lock for a moment, and to read its log."""

_SECONDS = 10

# Errors by which a server says that an account may not do something.
_DENIALS = {1044, 1142, 1143, 1227, 1370, 1410}

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
    """A server and how it writes its binary log."""

    version: str
    log_bin: bool
    form: str
    row_image: str
    left_out: frozenset[str]
    kept_alone: frozenset[str]

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


@dataclass(frozen=True)
class Session:
    """A connection to a server that commits each statement by itself."""

    connection: Connection[Any]

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement, and give its rows."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    def one(self, sql: str, *values: Any) -> Any:
        """Run a statement, and give its first value; None if there is none."""
        found = self.rows(sql, *values)
        return found[0][0] if found else None


@contextmanager
def connected(url: str, name: str) -> Iterator[Session]:
    """Open a server.

    Args:
        url: Such as ``mariadb://ann@db.example.org/?read_default_file=/home/ann/.my.cnf``,
            where the file holds the password as MariaDB's own clients read it.
        name: The database's name in messages.

    Raises:
        CaptureError: [database-unreachable] it does not let us in, or ends what was
            begun; [capture-permission-denied] it does not let us do something.
    """
    import pymysql  # noqa: PLC0415 - only work on captures needs it

    host, port = server_of(url)
    parts = urlsplit(url)
    options = parse_qs(parts.query)
    given: dict[str, Any] = {
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "database": unquote(parts.path.lstrip("/")),
        "read_default_file": options.get("read_default_file", [""])[-1],
    }
    try:
        connection = pymysql.connect(
            host=host,
            port=port,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=_SECONDS,
            **{option: value for option, value in given.items() if value},
        )
    except (pymysql.MySQLError, OSError) as error:
        raise _unreachable(name, error) from error
    with connection:
        try:
            yield Session(connection)
        except pymysql.MySQLError as error:
            if error.args[0] not in _DENIALS:
                raise _unreachable(name, error) from error
            raise CaptureError(
                "capture-permission-denied",
                f'the server of "{name}" does not let us do what a capture needs',
                detail=str(error.args[-1]),
                hint="give the address of somebody who may see the log and the users.",
            ) from error


def _unreachable(name: str, error: Exception) -> CaptureError:
    return CaptureError(
        "database-unreachable",
        f'database "{name}" does not let us in',
        detail=str(error.args[-1] if error.args else error),
        hint="`headrace status` shows what runs; the address names the file with "
        "the password: ?read_default_file=/home/ann/.my.cnf.",
    )


def server_of(url: str) -> tuple[str, int]:
    """Give the host and the port of an address.

    Example:
        >>> server_of("mariadb://ann@db.example.org/")
        ('db.example.org', 3306)
    """
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or PORT


def log_facts(session: Session) -> LogFacts:
    """Say how a server writes its log."""
    version, log_bin, form, image = session.rows(
        "select @@version, @@log_bin, @@global.binlog_format, @@global.binlog_row_image"
    )[0]
    if not log_bin:
        return LogFacts(version, False, form, image, frozenset(), frozenset())
    facts = LogFacts(version, True, form, image, frozenset(), frozenset())
    shown = "master status"
    if not facts.is_mariadb and facts.number >= (8, 4):
        shown = "binary log status"
    _, _, alone, out, *_ = session.rows(f"show {shown}")[0]
    return LogFacts(version, True, form, image, _names(out), _names(alone))


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
