"""Tables of a real PostgreSQL, and sinks that write to them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from typing import Any

import psycopg
from psycopg.sql import SQL, Composed, Identifier

from headrace import event
from headrace.delivery import SinkTerms
from headrace.event import event_type

_NUMBERS = count(1)


@event(key="id")
class Account:
    id: str
    cents: int
    note: str | None


@dataclass
class Accounts:
    """A table of accounts, which a sink may make."""

    address: str
    connection: psycopg.Connection
    name: str

    @classmethod
    def new(cls, address: str, connection: psycopg.Connection) -> Accounts:
        return cls(address, connection, f"accounts_{next(_NUMBERS)}")

    def sink(self, **changes: str) -> SinkTerms:
        settings = {
            "address": self.address,
            "schema": "public",
            "table": self.name,
            "mode": "upsert",
            "key": '["id"]',
            "columns": json.dumps(event_type(Account).record.spark),
            "lock_timeout_ms": "300",
        }
        return SinkTerms(self.name.replace("_", "-"), "postgres", settings | changes)

    def rows(self) -> list[tuple[Any, ...]]:
        asked = self.sql("select id, cents, note from {} order by id, cents")
        return self.connection.execute(asked).fetchall()

    def ids(self) -> list[str]:
        return [found[0] for found in self.rows()]

    def execute(self, text: str) -> None:
        """Run statements; ``{}`` is the table."""
        self.connection.execute(self.sql(text))

    def sql(self, text: str) -> Composed:
        return SQL(text).format(Identifier(self.name))

    def records(self, pipeline: str = "direct") -> dict[int, dict[str, Any]]:
        """Give the ledger's records by lane."""
        found = self.connection.execute(
            "select lane, record from headrace_delivery.ledger "
            "where sink = %s and record is not null",
            [f"{pipeline}.{self.name.replace('_', '-')}"],
        )
        return dict(found.fetchall())


def row(key: str, cents: int, note: str | None = None) -> tuple[str, dict[str, Any]]:
    return key, {"id": key, "cents": cents, "note": note}
