"""A database of its own for a test, captured on the real servers."""

from __future__ import annotations

import json
import os
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from headrace.cdc import captures
from headrace.cdc.connect import ConnectCluster
from headrace.cdc.place import Capture
from headrace.cdc.topics import LogRecord, records_of
from headrace.cdc.watching import problems
from headrace.cdc.wishes import Login, Wish
from headrace.log import client_settings
from headrace.services import Stack
from support.harness.waiting import wait_until

USERS = "public.users"


class Captured:
    """A database that is captured; its tables have an integer `id` and a text `v`."""

    def __init__(self, stack: Stack, name: str, url: str, table: str) -> None:
        self.stack, self.name, self.table = stack, name, table
        kafka = client_settings(stack.address("kafka"))
        self.capture = Capture(name, url, stack.address("connect"), kafka)

    @property
    def cluster(self) -> ConnectCluster:
        return ConnectCluster(self.capture.connect)

    def run(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement, and give its rows if it has some."""
        raise NotImplementedError

    def one(self, sql: str, *values: Any) -> Any:
        return self.run(sql, *values)[0][0]

    def login(self, role: str | None = None) -> Login:
        """Put a new password where Connect can read it."""
        password = secrets.token_urlsafe(24)
        role = role or self.capture.slot
        file = self.stack.run_directory.write(
            f"connect/passwords/{role}/password", password
        )
        reference = f"${{directory:{file.parent}:{file.name}}}"
        return Login(role, reference, password)

    def add(self, *tables: str, **wish: Any) -> list[str]:
        """Capture tables; give what was told meanwhile."""
        told: list[str] = []
        there = self.cluster.config(self.capture.connector)
        login = None if there else self.login()
        wished = Wish(tables or (self.table,), **wish)
        captures.add(self.capture, wished, login, told.append)
        return told

    def rows(self, table: str | None = None) -> dict[int, str]:
        """Give the table as it is."""
        return dict(self.run(f"select id, v from {table or self.table}"))  # noqa: S608

    def changes(
        self, table: str | None = None
    ) -> list[tuple[int, str | None, str | None]]:
        """Give the log of the table: id, what was done, and the value afterwards."""
        found = []
        for record in self.records(table):
            change = json.loads(record.value) if record.value else {}
            after = change.get("after") or {}
            key = json.loads(record.key or b"{}")
            found.append((key["id"], change.get("op"), after.get("v")))
        return found

    def records(self, table: str | None = None) -> list[LogRecord]:
        """Give the records of the table's topic."""
        topic = self.capture.topic(table or self.table)
        return [*records_of(self.capture.kafka, topic)]

    def logged(self, table: str | None = None) -> dict[int, str | None]:
        """Give the table as somebody knows it who has read its log from the start."""
        known: dict[int, str | None] = {}
        for record in self.records(table):
            change = json.loads(record.value) if record.value else {}
            after = change.get("after")
            key = json.loads(record.key or b"{}")["id"]
            if after is None:
                known.pop(key, None)
            else:
                known[key] = after["v"]
        return known

    def await_equal(self, table: str | None = None, seconds: float = 90) -> None:
        """Wait until the log says what the table holds, row for row."""
        wait_until(
            f"the log of {table or self.table} ends like the table",
            lambda: self.logged(table) == self.rows(table),
            seconds=seconds,
            step=0.5,
        )

    def slugs(self) -> list[str]:
        return [problem.slug for problem in problems(self.capture)]

    def await_problem(self, slug: str) -> None:
        wait_until(
            f"{slug} is seen", lambda: slug in self.slugs(), seconds=60, step=0.5
        )

    def remove(self) -> None:
        """Take the capture away, so that it costs the next tests nothing."""
        if self.cluster.config(self.capture.connector) is not None:
            captures.remove(self.capture)


class Bank(Captured):
    """A database of PostgreSQL."""

    def __init__(self, stack: Stack, name: str) -> None:
        url = urlunsplit(urlsplit(stack.address("postgres"))._replace(path=f"/{name}"))
        super().__init__(stack, name, url, USERS)
        self.db = psycopg.connect(url, autocommit=True)

    def run(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run a statement, and give its rows if it has some."""
        done = self.db.execute(sql, values or None)
        return done.fetchall() if done.description else []

    def make(self, table: str = USERS, rows: int = 3) -> None:
        """Make a table with some rows."""
        self.run(f"create table {table} (id int primary key, v text)")
        old = "select i, 'old' from generate_series(1, %s) i"
        self.run(f"insert into {table} {old}", rows)

    def await_running(self) -> None:
        def runs() -> bool:
            state = self.cluster.state(self.capture.connector)
            slot = self.run(
                "select active from pg_replication_slots where slot_name = %s",
                self.capture.slot,
            )
            return state is not None and state.is_running and slot == [(True,)]

        wait_until("the capture runs", runs, seconds=90, step=0.2)

    def await_committed(self) -> None:
        """Wait until the connector has committed a position behind the snapshot."""

        def committed() -> bool:
            offset = self.cluster.offset(self.capture.connector) or {}
            return offset.get("lsn_commit") is not None

        wait_until("a position is committed", committed, seconds=90, step=0.5)

    def stop(self) -> None:
        """Stop the connector, and wait until its slot is free."""
        self.cluster.stop(self.capture.connector)
        wait_until("the slot is free", lambda: self.reader() is None, seconds=60)

    def reader(self) -> int | None:
        """Give the pid of the server's process that reads the slot."""
        found = self.run(
            "select active_pid from pg_replication_slots where slot_name = %s",
            self.capture.slot,
        )
        return found[0][0] if found else None

    def drop_slot(self) -> None:
        """Drop the slot, whoever reads from it."""

        def dropped() -> bool:
            try:
                if (pid := self.reader()) is not None:
                    self.run("select pg_terminate_backend(%s)", pid)
                self.run("select pg_drop_replication_slot(%s)", self.capture.slot)
            except psycopg.errors.ObjectInUse:
                return False
            return True

        wait_until("the slot is dropped", dropped, seconds=30, step=0.01)

    def remove(self) -> None:
        """Take the capture away, and close the database."""
        super().remove()
        self.db.close()


@contextmanager
def bank_on(stack: Stack, name: str) -> Iterator[Bank]:
    """Give a new database, and take its capture away afterwards."""
    with psycopg.connect(stack.address("postgres"), autocommit=True) as server:
        server.execute(f'create database "{name}"')
    bank = Bank(stack, name)
    try:
        yield bank
    finally:
        bank.remove()


def kill(stack: Stack, service: str) -> None:
    """Kill a server as a crash does."""
    pid = stack.site().process(service).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(f"{service} is dead", lambda: stack.site().process(service).pid is None)
