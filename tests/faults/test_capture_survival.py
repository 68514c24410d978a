"""A bank's tables and their live copies, while everything is killed in turn.

By default some thousand rows; ``BANK_ROWS=100000`` makes it the whole bank.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from headrace.services import SERVICES, Stack
from support.harness.bank_at_work import TABLES, Bank
from support.harness.bank_copies import (
    Rows,
    differences,
    in_database,
    in_lake,
    in_opensearch,
    in_redis,
)
from support.harness.killing import kill
from support.harness.rig import PIPELINES
from support.harness.supervised import COMMAND, Supervised
from support.harness.waiting import wait_until

ROWS = int(os.environ.get("BANK_ROWS", "10000"))
SEED = int(os.environ.get("BANK_SEED", "1"))
SERVERS = ("connect", "postgres", "kafka", "redis", "opensearch")
PIPELINE = PIPELINES / "bank_pipeline.py"


@pytest.fixture
def bank(servers: Stack) -> Bank:
    servers.up(SERVERS)
    made = Bank(servers.address("postgres"), seed=SEED)
    made.create()
    with psycopg.connect(servers.address("postgres"), autocommit=True) as connection:
        connection.execute("create database warehouse")
    return made


@pytest.fixture
def pipeline(servers: Stack, tmp_path: Path) -> Iterator[Supervised]:
    lake = {"BANK_LAKE": str(tmp_path / "lake")}
    made = Supervised(PIPELINE, servers.run_directory.path, tmp_path, lake)
    with made:
        yield made


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_the_copies_equal_the_database_whatever_is_killed(
    servers: Stack,
    bank: Bank,
    pipeline: Supervised,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    bank.load(ROWS)
    capture(servers)
    redis, search = servers.address("redis"), servers.address("opensearch")

    for what in [*SERVERS, "driver"]:
        working = bank.work(ROWS // 15)
        seen = len(in_redis(redis, "payments"))
        wait_until(
            "something arrives",
            lambda: len(in_redis(redis, "payments")) != seen,  # noqa: B023
            seconds=600,
            step=0.5,
        )
        if what == "driver":
            bank.add_column()
        kill_and_start(servers, pipeline, what)
        working.wait()

    wanted = {table: in_database(bank.address, table) for table in TABLES}
    assert sum(map(len, wanted.values())) > ROWS
    record_property("rows", {table: len(rows) for table, rows in wanted.items()})
    record_property("changes", bank.done)
    equal(lambda table: in_redis(redis, table), wanted)
    # A driver that was killed may have come to Redis and no further.
    wait_until("the last batch is everywhere", lambda: pipeline.is_settled, seconds=600)
    pipeline.stop()
    record_property("ends", pipeline.ends)
    record_property("errors", sorted(pipeline.slugs))

    warehouse = psycopg.conninfo.make_conninfo(bank.server, dbname="warehouse")
    lake = in_lake(tmp_path / "lake")
    for table, rows in wanted.items():
        assert not differences(rows, in_redis(redis, table)), "Redis"
        assert not differences(rows, in_opensearch(search, table)), "OpenSearch"
        assert not differences(rows, in_database(warehouse, table)), "PostgreSQL"
        assert not differences(rows, lake[table]), "Delta"


def capture(servers: Stack) -> None:
    """Capture all tables, as a user does."""
    tables = ",".join(f"public.{table}" for table in TABLES)
    command = [sys.executable, "-c", COMMAND, "cdc", "add", "bank", "--tables", tables]
    directory = str(servers.run_directory.path)
    done = subprocess.run(
        [*command, "--dir", directory], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def kill_and_start(servers: Stack, pipeline: Supervised, what: str) -> None:
    """Kill with no warning, and start again what does not start by itself."""
    if what == "driver":
        pipeline.kill()
        return
    for name in SERVICES[what].process_names(servers.site().brokers):
        kill(servers, name)
    servers.up([what])


def equal(read: Callable[[str], Rows], wanted: dict[str, Rows]) -> None:
    """Wait until a copy equals the database."""
    for table, rows in wanted.items():
        wait_until(
            f"the copy of {table} equals it",
            lambda: not differences(rows, read(table)),  # noqa: B023
            seconds=600,
            step=1,
        )
