"""Servers that are halted: they keep their connections, and say nothing on them."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

import psutil
import psycopg
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headrace.services import Stack
from support.harness.lanes import Lanes, refusal
from support.harness.tables import Accounts
from support.harness.waiting import wait_until

# More than the buffers of a connection hold, so that who writes it has to wait.
MUCH = "x" * 32 * 1024 * 1024

SILENCE = {"silence_ms": "3000", "lane_patience_ms": "0"}


@contextmanager
def halted(stack: Stack, service: str) -> Iterator[None]:
    """Let a server and all its processes stand still."""
    pid = stack.site().process(service).pid
    assert pid is not None
    server = psutil.Process(pid)
    server.send_signal(signal.SIGSTOP)
    # Only then, so that it has no further children.
    processes = [server, *server.children(recursive=True)]
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


def refused(*calls: Callable[[], Any]) -> list[str]:
    """Give the names under which calls fail that are made side by side."""
    with ThreadPoolExecutor(len(calls)) as threads:
        failures = [threads.submit(call).exception(60) for call in calls]
    assert all(isinstance(failure, Py4JJavaError) for failure in failures), failures
    return [refusal(failure).slug for failure in failures]


def claimed_again(lanes: Lanes) -> Any:
    """Claim a lane as soon as the server answers again."""

    def claimed() -> Any:
        with suppress(Py4JJavaError):
            return lanes.claimed()

    return wait_until("it answers again", claimed, seconds=60)


@pytest.fixture
def accounts(postgres: str) -> Iterator[Accounts]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield Accounts.new(postgres, connection)


@pytest.fixture
def postgres_lanes(spark: SparkSession, accounts: Accounts) -> Lanes:
    settings = dict(accounts.sink(lock_timeout_ms="60000").settings) | SILENCE
    lanes = Lanes(spark, "postgres.PostgresSink", settings)
    lanes.sink.prepare()
    return lanes


def account(lanes: Lanes, name: str, note: str = "") -> Any:
    return lanes.row(name, {"id": name, "cents": 1, "note": note})


def test_a_halted_postgres_is_unreachable_at_every_step_of_a_lane(
    servers: Stack, accounts: Accounts, postgres_lanes: Lanes
) -> None:
    lanes = postgres_lanes
    record = lanes.record(0)
    writing, ending, resting = (lanes.claimed(number) for number in range(3))
    writing.write(account(lanes, "a"))
    ending.write(account(lanes, "b"))
    resting.commit(record)
    resting.close()
    with halted(servers, "postgres"):
        slugs = refused(
            lanes.sink.ledgers,
            lambda: lanes.claimed(2),
            lambda: writing.write(account(lanes, "much", MUCH)),
            lambda: ending.commit(record),
        )
        writing.close()
        ending.close()

    assert slugs == ["sink-unreachable"] * 4
    again = claimed_again(lanes)
    again.write(account(lanes, "c"))
    again.commit(lanes.record(1))
    assert accounts.ids() == ["c"]
    assert lanes.batches() == {0: 1, 2: 0}


def test_a_postgres_that_works_for_long_is_left_to_it(
    accounts: Accounts, postgres_lanes: Lanes
) -> None:
    lanes = postgres_lanes
    lane, record = lanes.claimed(), lanes.record(0)
    lane.write(account(lanes, "a"))
    committing = threading.Thread(target=lane.commit, args=[record])
    with psycopg.connect(accounts.address) as other:
        other.execute(accounts.sql("lock table {} in exclusive mode"))
        before = sessions(accounts)
        committing.start()
        wait_until("it was asked twice", lambda: sessions(accounts) > before + 1)
    committing.join(60)

    assert accounts.ids() == ["a"]
    assert lanes.batches() == {0: 0}


def sessions(accounts: Accounts) -> int:
    """Give how many connections the database has seen end or begin."""
    asked = "select sessions from pg_stat_database where datname = current_database()"
    accounts.connection.execute("select pg_stat_clear_snapshot()")
    ((found,),) = accounts.connection.execute(asked).fetchall()
    return int(found)


def require_unreachable_while_halted(
    servers: Stack, service: str, lanes: Lanes, row: Any
) -> None:
    """Halt a store at each step of a lane; afterwards a lane goes on as before."""
    writing, ending = (lanes.claimed(number) for number in range(2))
    writing.write(row)
    record = lanes.record(0)
    with halted(servers, service):
        slugs = refused(
            lanes.sink.ledgers,
            lambda: lanes.claimed(2),
            lambda: writing.commit(record),
            lambda: ending.commit(record),
        )

    assert slugs == ["sink-unreachable"] * 4
    again = claimed_again(lanes)
    again.write(lanes.row("a", {"id": "a"}))
    again.commit(lanes.record(1))


@pytest.fixture
def redis_lanes(spark: SparkSession, redis_address: str) -> Lanes:
    settings = {"address": redis_address, "keyspace": uuid4().hex, "as": "json"}
    settings["columns"] = json.dumps({"type": "struct", "fields": []})
    return Lanes(spark, "redis.RedisSink", settings | SILENCE)


def test_a_halted_redis_is_unreachable_at_every_step_of_a_lane(
    servers: Stack, redis_lanes: Lanes
) -> None:
    lanes = redis_lanes
    row = lanes.row("much", {"id": "much", "note": MUCH})
    require_unreachable_while_halted(servers, "redis", lanes, row)

    assert lanes.batches()[0] == 1


@pytest.fixture
def search_lanes(spark: SparkSession, opensearch_address: str) -> Lanes:
    field = {"name": "id", "type": "string", "nullable": True, "metadata": {}}
    settings = {"address": opensearch_address, "index": f"silent-{uuid4().hex}"}
    settings["columns"] = json.dumps({"type": "struct", "fields": [field]})
    # To make an index takes longer than any other answer.
    maker = Lanes(spark, "opensearch.OpenSearchSink", settings)
    maker.sink.prepare()
    return Lanes(spark, "opensearch.OpenSearchSink", settings | SILENCE)


def test_a_halted_opensearch_is_unreachable_at_every_step_of_a_lane(
    servers: Stack, search_lanes: Lanes
) -> None:
    lanes = search_lanes
    row = lanes.row("a", {"id": "a"})
    require_unreachable_while_halted(servers, "opensearch", lanes, row)

    assert lanes.batches() == {0: 1}
