"""Sinks beside each other: one that fails or waits does no harm to the others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from pyspark.sql import SparkSession

from headrace import DeliveryError, sinks
from headrace._spark.delivery import delivery_report
from headrace.delivery import SinkTerms, Terms, deliver
from headrace.services.addresses import Addresses
from headrace.testing import SinkRow
from support.harness.copying import Copying, read_rows
from support.harness.tables import Accounts
from support.harness.waiting import wait_until

ROWS = [[SinkRow(f"k{n}", n, "x") for n in range(s, s + 20)] for s in (0, 20)]


@pytest.fixture
def accounts(postgres: str) -> Iterator[Accounts]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield Accounts.new(postgres, connection)


def test_a_sink_that_refuses_a_row_leaves_the_others_right(
    spark: SparkSession,
    bootstrap: str,
    accounts: Accounts,
    addresses: Addresses,
    tmp_path: Path,
) -> None:
    name, table = accounts.name.replace("_", "-"), accounts.name
    good = f"{table}_good"
    accounts.execute(
        "create table {} (key text primary key, number bigint check (number <> 30), "
        "text text)"
    )

    def declare(pipeline: Any, rows: Any) -> None:
        pipeline.write("bad", rows, sinks.postgres(table))
        pipeline.write("log", rows, sinks.kafka(f"{name}.out"))
        pipeline.write("good", rows, sinks.postgres(good))

    def in_table(which: str) -> list[SinkRow]:
        asked = SQL("select key, number, text from {} order by number")
        found = accounts.connection.execute(asked.format(Identifier(which)))
        return [SinkRow(*row) for row in found]

    def in_topic() -> list[SinkRow]:
        return sorted(read_rows(bootstrap, f"{name}.out"), key=lambda r: r.number)

    copying = Copying(spark, bootstrap, tmp_path, name, declare, addresses)
    copying.deliver(0, ROWS[0])

    with pytest.raises(DeliveryError) as caught:
        copying.attempt(1, ROWS[1])

    assert caught.value.slug == "row-refused"
    assert 'the one of key "k30"' in caught.value.fact
    assert 'output "bad" (postgres)' in str(caught.value.detail)
    assert in_table(table) == ROWS[0]
    assert in_table(good) == in_topic() == [*ROWS[0], *ROWS[1]]

    accounts.execute(f"alter table {{}} drop constraint {table}_number_check")
    report = copying.deliver(1, ROWS[1])

    assert in_table(table) == in_table(good) == in_topic() == [*ROWS[0], *ROWS[1]]
    held = {"bad": 0, "log": 1, "good": 1, "dead-letters": 1}
    assert (report["held_by_sink"], report["held_batches"]) == (held, 0)


@pytest.mark.long
def test_a_query_is_stopped_while_a_sink_waits(
    spark: SparkSession, accounts: Accounts, tmp_path: Path
) -> None:
    sink = accounts.sink(lock_timeout_ms="600000")
    terms = Terms(
        pipeline="stopped",
        query="main",
        bootstrap=None,
        checkpoint=str(tmp_path / "checkpoint"),
        sinks=(sink, SinkTerms("second", "postgres", sink.settings)),
        patience=timedelta(minutes=10),
    )
    row = "to_json(named_struct('id', string(value), 'cents', value))"
    outgoing = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", 5)
        .load()
        .selectExpr(
            "int(value % 2) as sink",
            "string(value) as key",
            f"{row} as value",
            "cast(null as array<struct<key:string,value:binary>>) as headers",
            "timestamp",
        )
    )
    delivering = deliver(outgoing, terms, every=timedelta(milliseconds=100))
    wait_until(
        "a batch is there",
        lambda: delivery_report(spark, "stopped", "main")["batches"],
        seconds=120,
    )
    with psycopg.connect(accounts.address) as holder:
        holder.execute("select from headrace_delivery.ledger for update")
        waiting = (
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' "
            "and application_name like 'headrace.stopped.%'"
        )
        wait_until(
            "both sinks wait",
            lambda: accounts.connection.execute(waiting).fetchone() == (2,),
            seconds=60,
        )

        delivering.stop()

        assert not delivering.query.isActive
        assert delivering.query.exception() is None
        assert not spark.sparkContext.statusTracker().getActiveJobsIds()
        wait_until(
            "nobody waits any more",
            lambda: accounts.connection.execute(waiting).fetchone() == (0,),
        )
