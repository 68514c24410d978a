"""Down and up again: no process is left in between, and no data is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import psutil
import psycopg
import pytest
import redis
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from opensearchpy import OpenSearch

from headrace.log import administer, client_settings
from headrace.services import ProcessStatus, Stack
from headrace.services.launch import birth
from headrace.services.registry import CONFLUENT_API
from headrace.services.service import http_json
from support.harness.observe import headrace, processes_in

MANY = {f"kept-{number}-value" for number in range(100)}
SCHEMA = Schema(json.dumps({"type": "record", "name": "Kept", "fields": []}), "AVRO")


def put_everywhere(stack: Stack) -> None:
    """Leave something in each of the servers."""
    bootstrap = stack.address("kafka")
    admin = administer(bootstrap, stack.site().run.cluster_id)
    admin.create_topics([NewTopic("kept", 1, 1)])["kept"].result(30)
    producer = Producer(client_settings(bootstrap) | {"acks": "all"})
    for number in range(3):
        producer.produce("kept", str(number))
    assert producer.flush(30) == 0
    with psycopg.connect(stack.address("postgres"), autocommit=True) as database:
        database.execute("create table kept (id int)")
        database.execute("insert into kept values (7)")
        database.execute("alter system set work_mem = '7MB'")
    with redis.Redis.from_url(stack.address("redis")) as client:
        client.set("kept", "a key")
    with OpenSearch(stack.address("opensearch")) as search:
        search.index(index="kept", id="1", body={"kept": True})
    with SchemaRegistryClient({"url": stack.address("registry")}) as registry:
        registry.register_schema("kept-value", SCHEMA)
        for subject in MANY:
            registry.register_schema(subject, SCHEMA)
        registry.set_compatibility(level="NONE")


@dataclass(frozen=True)
class Restart:
    """What was seen while all servers were stopped and started again."""

    before: list[ProcessStatus]
    family: list[psutil.Process]
    stopped: list[str]
    left: list[psutil.Process]
    between: list[ProcessStatus]
    second_down: tuple[int, str]
    after: list[ProcessStatus]
    subjects: set[str]


@pytest.fixture(scope="module")
def restart(stack: Stack) -> Iterator[Restart]:
    put_everywhere(stack)
    path = stack.run_directory.path
    before, family, told = stack.status(), processes_in(path), []
    stopped = stack.down(lambda service, news: told.append((service, news)))
    left, between = processes_in(path), stack.status()
    again = headrace("down", "--dir", path)
    after = stack.up()
    with SchemaRegistryClient({"url": stack.address("registry")}) as registry:
        subjects = set(registry.get_subjects())
    assert {news for _, news in told} == {"stopped"}, told
    yield Restart(
        before=before,
        family=family,
        stopped=stopped,
        left=left,
        between=between,
        second_down=(again.returncode, again.stderr),
        after=after,
        subjects=subjects,
    )
    # The other tests use this registry with the rule it began with.
    body = {"compatibility": "BACKWARD"}
    port = stack.site().port("registry")
    http_json(port, f"{CONFLUENT_API}/config", body=body, method="PUT")


def test_down_leaves_no_process(restart: Restart) -> None:
    assert len(restart.family) > len(restart.before)
    assert [p for p in restart.family if p.is_running() and birth(p.pid)] == []
    assert restart.left == []


def test_down_names_what_it_stopped_in_reverse_order(restart: Restart) -> None:
    started = [process.process for process in restart.before]

    assert restart.stopped == started[::-1]


def test_stopped_servers_are_shown_as_stopped(restart: Restart) -> None:
    assert [process.health for process in restart.between] == ["stopped"] * 6
    assert [process.pid for process in restart.between] == [None] * 6


def test_down_twice_is_harmless(restart: Restart) -> None:
    code, said = restart.second_down

    assert code == 0
    assert "nothing was running" in said


def test_servers_come_back_at_the_same_addresses(restart: Restart) -> None:
    addresses = [process.address for process in restart.before]

    assert [process.health for process in restart.after] == ["healthy"] * 6
    assert [process.address for process in restart.after] == addresses


@pytest.mark.usefixtures("restart")
def test_messages_survive(stack: Stack) -> None:
    settings = client_settings(stack.address("kafka")) | {"group.id": "survival"}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition("kept", 0, 0)])
    found = consumer.consume(3, 30)
    consumer.close()

    assert [message.value() for message in found] == [b"0", b"1", b"2"]


@pytest.mark.usefixtures("restart")
def test_rows_and_the_users_own_database_settings_survive(stack: Stack) -> None:
    with psycopg.connect(stack.address("postgres")) as database:
        assert database.execute("select id from kept").fetchall() == [(7,)]
        assert database.execute("show work_mem").fetchall() == [("7MB",)]
        assert database.execute("show wal_level").fetchall() == [("logical",)]


@pytest.mark.usefixtures("restart")
def test_keys_survive(stack: Stack) -> None:
    with redis.Redis.from_url(stack.address("redis")) as client:
        assert client.get("kept") == b"a key"


@pytest.mark.usefixtures("restart")
def test_documents_survive(stack: Stack) -> None:
    with OpenSearch(stack.address("opensearch")) as search:
        assert search.get(index="kept", id="1")["_source"] == {"kept": True}


def test_all_schemas_are_there_as_soon_as_the_registry_is_ready(
    restart: Restart,
) -> None:
    assert restart.subjects >= MANY | {"kept-value"}


@pytest.mark.usefixtures("restart")
def test_schemas_and_the_users_own_rule_survive(stack: Stack) -> None:
    with SchemaRegistryClient({"url": stack.address("registry")}) as registry:
        assert registry.get_versions("kept-value") == [1]
        assert registry.get_compatibility() == "NONE"
