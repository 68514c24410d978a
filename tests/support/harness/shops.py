"""A database of MariaDB for a test, captured on the real servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pymysql
from pymysql.cursors import Cursor

from headrace.services import Stack
from support.harness.capturing import Captured
from support.harness.waiting import wait_until


def open_mariadb(stack: Stack, **options: Any) -> pymysql.Connection[Any]:
    """Open the stack's own server as its owner."""
    parts = urlsplit(stack.address("mariadb"))
    (file,) = parse_qs(parts.query)["read_default_file"]
    return pymysql.connect(
        host=parts.hostname,
        port=parts.port or 0,
        read_default_file=file,
        charset="utf8mb4",
        **{"autocommit": True, **options},
    )


class Shop(Captured):
    """A database of MariaDB."""

    def __init__(self, stack: Stack, name: str) -> None:
        super().__init__(stack, name, stack.address("mariadb"), f"{name}.users")
        self.db = open_mariadb(stack)

    def run(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement, and give its rows if it has some."""
        with self.db.cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    @contextmanager
    def transaction(self) -> Iterator[Cursor]:
        """Give a cursor of a connection that commits when it is told to."""
        with (
            open_mariadb(
                self.stack, database=self.name, autocommit=False
            ) as connection,
            connection.cursor() as cursor,
        ):
            yield cursor

    def make(self, table: str | None = None, rows: int = 3) -> None:
        """Make a table with some rows."""
        name = table or self.table
        self.run(f"create table {name} (id int primary key, v text)")
        old = f"select seq, 'old' from seq_1_to_{rows}"  # noqa: S608
        self.run(f"insert into {name} {old}")

    def purge(self) -> None:
        """Have the server delete its log up to now."""
        self.run("flush binary logs")
        reading = (
            "select id from information_schema.processlist "
            "where user = %s and command like 'Binlog Dump%%'"
        )

        def purged() -> bool:
            # The server keeps what it sends to a reader, until it sees that it left.
            for (reader,) in self.run(reading, self.capture.slot):
                self.run("kill %s", reader)
            last = self.run("show binary logs")[-1][0]
            self.run("purge binary logs to %s", last)
            return len(self.run("show binary logs")) == 1

        wait_until("the log is purged", purged, seconds=60, step=0.5)

    def remove(self) -> None:
        """Take the capture and the database away."""
        super().remove()
        self.run(f"drop database if exists {self.name}")
        self.db.close()


@contextmanager
def shop_on(stack: Stack, name: str) -> Iterator[Shop]:
    """Give a new database, and take its capture away afterwards."""
    shop = Shop(stack, name)
    shop.run(f"create database {name}")
    shop.db.select_db(name)
    try:
        yield shop
    finally:
        shop.remove()
