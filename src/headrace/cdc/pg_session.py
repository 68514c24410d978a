"""A connection to PostgreSQL that never waits for ever."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import TYPE_CHECKING, Any

from headrace.cdc.preparing import blocked
from headrace.errors import CaptureError

if TYPE_CHECKING:
    from psycopg import Connection

_SECONDS = 10

# What we ask is answered soon, unless a lock or a standing server is in the way.
_LOCK_SECONDS = 10
_STATEMENT_SECONDS = 30
_WHOLE_SECONDS = 120.0


@contextmanager
def connected(
    url: str, name: str, *, seconds: float = _WHOLE_SECONDS
) -> Iterator[Connection[Any]]:
    """Open a database, and commit each statement by itself.

    Args:
        url: The address.
        name: The database's name in messages.
        seconds: How long the whole of it may take, before the server counts as away.

    Raises:
        CaptureError: [database-unreachable] it does not let us in, or ends what was
            begun; [capture-blocked] somebody holds what we have to look at or change.
    """
    import psycopg  # noqa: PLC0415 - only work on captures needs it

    try:
        connection = psycopg.connect(url, autocommit=True, connect_timeout=_SECONDS)
    except psycopg.OperationalError as error:
        raise _unreachable(name, error) from error
    with connection, _hung_up_after(connection, seconds):
        try:
            connection.execute(f"set lock_timeout = '{_LOCK_SECONDS}s'".encode())
            connection.execute(
                f"set statement_timeout = '{_STATEMENT_SECONDS}s'".encode()
            )
            yield connection
        except (
            psycopg.errors.LockNotAvailable,
            psycopg.errors.QueryCanceled,
        ) as error:
            said = str(error).strip().splitlines()[0]
            raise blocked(name, said, "pg_stat_activity") from error
        except psycopg.OperationalError as error:
            raise _unreachable(name, error) from error


@contextmanager
def _hung_up_after(connection: Connection[Any], seconds: float) -> Iterator[None]:
    """Break the line after a while: a server that is halted keeps it open, silently."""
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        timer = Timer(seconds, _break, [line])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


def _break(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


def _unreachable(name: str, error: Exception) -> CaptureError:
    return CaptureError(
        "database-unreachable",
        f'database "{name}" does not let us in',
        detail=str(error).strip().splitlines()[-1],
        hint="`headrace status` shows what runs; on our own server, make the "
        "database with `create database`, and name others in the settings.",
    )
