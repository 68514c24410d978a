"""PostgreSQL keeps the contract of sinks, on a real server, through a real pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from pyspark.sql import SparkSession

from headrace import DeliveryError, sinks
from headrace.services.addresses import Addresses
from headrace.sinks import PostgresSink
from headrace.testing import SinkContract, SinkRow
from support.harness.copying import Copying

_NUMBERS = count(1)


class TestPostgresUpserts(SinkContract):
    mode = "upsert"

    @pytest.fixture(autouse=True)
    def new_table(
        self,
        spark: SparkSession,
        bootstrap: str,
        postgres: str,
        addresses: Addresses,
        tmp_path: Path,
    ) -> Iterator[None]:
        name = f"postgres-{next(_NUMBERS)}"
        self._table = name.replace("-", "_")
        self._sink = sinks.postgres(self._table, key="key", mode=self.mode)
        self._copying = Copying(
            spark,
            bootstrap,
            tmp_path,
            name,
            lambda pipeline, rows: pipeline.write("copy", rows, self._sink),
            addresses,
        )
        with psycopg.connect(postgres, autocommit=True) as self._reader:
            yield

    @property
    def sink(self) -> PostgresSink:
        return self._sink

    def write(self, batch: int, rows: Sequence[SinkRow]) -> None:
        self._copying.deliver(batch, rows)

    def fail_before_commit(self, batch: int, rows: Sequence[SinkRow]) -> None:
        with (
            _refused_records(self._reader),
            pytest.raises(DeliveryError, match="no record today"),
        ):
            self._copying.attempt(batch, rows)

    def rows(self) -> list[SinkRow]:
        # Where rows are only added, they lie in the order in which they came.
        asked = SQL("select key, number, text from {} order by ctid")
        found = self._reader.execute(asked.format(Identifier(self._table)))
        return [SinkRow(*row) for row in found]


class TestPostgresAppends(TestPostgresUpserts):
    mode = "append"


@contextmanager
def _refused_records(connection: psycopg.Connection) -> Iterator[None]:
    """Let the server take rows, and refuse the ledger's record behind them."""
    connection.execute(
        # As a sink makes it that finds none.
        "create schema if not exists headrace_delivery;"
        "create table if not exists headrace_delivery.ledger (sink text, lane int, "
        "record jsonb, written_at timestamptz, primary key (sink, lane));"
        "create or replace function headrace_delivery.refuse() returns trigger as "
        "$$ begin raise exception 'no record today'; end $$ language plpgsql;"
        "create trigger refused before update on headrace_delivery.ledger "
        "execute function headrace_delivery.refuse()"
    )
    try:
        yield
    finally:
        connection.execute("drop trigger refused on headrace_delivery.ledger")
