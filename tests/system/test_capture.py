"""Change data capture: what happens to a row arrives in the log, once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from confluent_kafka import Consumer

from headrace.log import client_settings
from headrace.services import Stack
from headrace.services.service import NotReadyError, http_json
from support.harness.messages import value_of
from support.harness.observe import headrace, processes_in
from support.harness.waiting import wait_until

TOPIC = "shop.public.orders"


def password_of(stack: Stack) -> str:
    return (stack.run_directory.path / "postgres" / "password").read_text().strip()


def connector(stack: Stack) -> dict[str, Any]:
    secrets = stack.run_directory.path / "postgres"
    server = psycopg.conninfo.conninfo_to_dict(stack.address("postgres"))
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": server["host"],
        "database.port": server["port"],
        "database.user": server["user"],
        "database.dbname": server["dbname"],
        # By reference: what a connector is told is kept in the log.
        "database.password": f"${{directory:{secrets}:password}}",
        "plugin.name": "pgoutput",
        "publication.autocreate.mode": "filtered",
        "slot.name": "shop",
        "topic.prefix": "shop",
        "table.include.list": "public.orders",
        "exactly.once.support": "required",
        "topic.creation.default.partitions": 1,
        "topic.creation.default.replication.factor": 1,
    }


def ask(stack: Stack, path: str, **options: Any) -> Any:
    return http_json(stack.site().port("connect"), path, **options)


def runs(stack: Stack) -> bool:
    try:
        found = ask(stack, "/connectors/shop/status")
    except NotReadyError:
        return False
    states = [found["connector"]["state"], *(t["state"] for t in found["tasks"])]
    assert "FAILED" not in states, found
    return states == ["RUNNING", "RUNNING"]


@pytest.fixture(scope="module")
def database(stack: Stack) -> Iterator[psycopg.Connection[Any]]:
    """Give a database whose table `orders` is captured."""
    with psycopg.connect(stack.address("postgres"), autocommit=True) as connection:
        connection.execute("create table orders (id int primary key, item text)")
        connection.execute("alter table orders replica identity full")
        connection.execute("insert into orders values (1, 'before the snapshot')")
        body = connector(stack)
        ask(stack, "/connectors/shop/config", body=body, method="PUT")
        wait_until("the connector runs", lambda: runs(stack), seconds=60)
        yield connection


def changes(stack: Stack, count: int) -> list[tuple[str, Any, Any]]:
    """Give the first changes in the topic: what was done, before and after."""
    settings = client_settings(stack.address("kafka")) | {
        "group.id": "test_capture",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    found: list[tuple[str, Any, Any]] = []
    try:
        consumer.subscribe([TOPIC])
        deadline = time.monotonic() + 60
        while len(found) < count and time.monotonic() < deadline:
            message = consumer.poll(1)
            # After a delete comes a tombstone, which has no value.
            if message is None or message.error() or message.value() is None:
                continue
            change = json.loads(value_of(message))
            found.append((change["op"], change["before"], change["after"]))
    finally:
        consumer.close()
    return found


def test_what_happens_to_a_row_arrives_in_the_log(
    stack: Stack, database: psycopg.Connection[Any]
) -> None:
    database.execute("insert into orders values (2, 'tea')")
    database.execute("update orders set item = 'coffee' where id = 2")
    database.execute("delete from orders where id = 2")

    snapshot = {"id": 1, "item": "before the snapshot"}
    tea, coffee = {"id": 2, "item": "tea"}, {"id": 2, "item": "coffee"}
    assert changes(stack, 4) == [
        ("r", None, snapshot),
        ("c", None, tea),
        ("u", tea, coffee),
        ("d", coffee, None),
    ]


@pytest.mark.usefixtures("database")
def test_the_databases_password_is_told_to_nobody(stack: Stack) -> None:
    path, password = stack.run_directory.path, password_of(stack)
    commands = [" ".join(p.cmdline()) for p in processes_in(path)]
    environments = [str(p.environ()) for p in processes_in(path)]
    said = [
        headrace("status", "--dir", path, "--format", "json"),
        headrace("doctor", "--dir", path),
    ]

    assert len(password) >= 32
    assert len(commands) >= 6
    for text in (*commands, *environments):
        assert password not in text
    for done in said:
        assert password not in done.stdout + done.stderr


@pytest.mark.usefixtures("database")
def test_the_databases_password_is_in_two_closed_files_alone(stack: Stack) -> None:
    path, password = stack.run_directory.path, password_of(stack).encode()
    files = [file for file in path.rglob("*") if file.is_file()]
    holding = [file for file in files if password in file.read_bytes()]

    assert {file.name for file in files} >= {f"{p}.log" for p in ("connect", "redis")}
    assert {file.name for file in holding} == {"password", "pgpass"}
    assert {file.stat().st_mode & 0o777 for file in holding} == {0o600}
