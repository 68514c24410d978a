"""A connection to MariaDB or MySQL, whose errors have names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from headrace.cdc.preparing import blocked
from headrace.errors import CaptureError

if TYPE_CHECKING:
    from pymysql.connections import Connection

PORT = 3306

_SECONDS = 10
_LOCK_SECONDS = 10

# To look for values that could not be told, a table is read from end to end.
_ANSWER_SECONDS = 600

_LOCK_HELD = 1205

# Errors by which a server says that an account may not do something.
_DENIALS = {1044, 1142, 1143, 1227, 1370, 1410}


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
            begun; [capture-permission-denied] it does not let us do something;
            [capture-blocked] somebody holds what we have to look at or change.
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
            read_timeout=_ANSWER_SECONDS,
            write_timeout=_ANSWER_SECONDS,
            init_command=f"set lock_wait_timeout = {_LOCK_SECONDS}",
            **{option: value for option, value in given.items() if value},
        )
    except (pymysql.MySQLError, OSError) as error:
        raise _unreachable(name, error) from error
    with connection:
        try:
            yield Session(connection)
        except pymysql.MySQLError as error:
            if error.args[0] == _LOCK_HELD:
                said = str(error.args[-1])
                raise blocked(name, said, "show processlist") from error
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
