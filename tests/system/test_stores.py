"""The registry, OpenSearch and Redis, used through their own clients."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import redis
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError
from opensearchpy import ConflictError, OpenSearch

from headrace.services import Stack


def avro(*fields: tuple[str, object]) -> Schema:
    rows = [{"name": name, "type": kind} for name, kind in fields]
    record = {"type": "record", "name": "Order", "fields": rows}
    return Schema(json.dumps(record), "AVRO")


@pytest.fixture
def registry(stack: Stack) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": stack.address("registry")}) as client:
        yield client


@pytest.fixture
def opensearch(stack: Stack) -> Iterator[OpenSearch]:
    with OpenSearch(stack.address("opensearch")) as client:
        yield client


def test_a_schema_is_registered_and_read_back(registry: SchemaRegistryClient) -> None:
    number = registry.register_schema("read-back-value", avro(("id", "int")))

    found = registry.get_schema(number)
    latest = registry.get_latest_version("read-back-value")
    assert found.schema_str is not None
    assert json.loads(found.schema_str)["fields"] == [{"name": "id", "type": "int"}]
    assert (latest.schema_id, latest.version) == (number, 1)


def test_a_schema_that_cannot_read_older_events_is_refused(
    registry: SchemaRegistryClient,
) -> None:
    registry.register_schema("evolving-value", avro(("id", "int")))
    added = avro(("id", "int"), ("item", "string"))

    with pytest.raises(SchemaRegistryError) as refused:
        registry.register_schema("evolving-value", added)

    assert refused.value.http_status_code == 409
    assert registry.get_versions("evolving-value") == [1]


def test_a_schema_that_can_read_older_events_is_accepted(
    registry: SchemaRegistryClient,
) -> None:
    registry.register_schema("growing-value", avro(("id", "int")))
    fields = [
        {"name": "id", "type": "int"},
        {"name": "item", "type": "string", "default": ""},
    ]
    grown = Schema(
        json.dumps({"type": "record", "name": "Order", "fields": fields}), "AVRO"
    )

    registry.register_schema("growing-value", grown)

    assert registry.get_versions("growing-value") == [1, 2]


def test_a_document_is_indexed_and_found(opensearch: OpenSearch) -> None:
    document = {"item": "tea", "price": 3}
    opensearch.index(index="found", id="1", body=document, refresh=True)

    query = {"query": {"match": {"item": "tea"}}}
    hits = opensearch.search(index="found", body=query)["hits"]["hits"]

    assert [hit["_source"] for hit in hits] == [document]


def test_a_stale_version_of_a_document_is_refused(opensearch: OpenSearch) -> None:
    def index(version: int) -> None:
        opensearch.index(
            index="versioned",
            id="1",
            body={"version": version},
            params={"version": version, "version_type": "external"},
        )

    index(5)
    with pytest.raises(ConflictError) as refused:
        index(4)
    index(6)

    assert refused.value.status_code == 409
    found = opensearch.get(index="versioned", id="1")
    assert found["_source"] == {"version": 6}


def test_a_key_is_set_and_read(stack: Stack) -> None:
    with redis.Redis.from_url(stack.address("redis")) as client:
        client.set("colour", "green")

        assert client.get("colour") == b"green"


def test_a_script_compares_versions_before_it_writes(stack: Stack) -> None:
    script = """
        local held = tonumber(redis.call('hget', KEYS[1], 'version') or '0')
        if held >= tonumber(ARGV[1]) then return 0 end
        redis.call('hset', KEYS[1], 'version', ARGV[1])
        return 1
    """
    with redis.Redis.from_url(stack.address("redis")) as client:
        write = client.register_script(script)
        answers = [write(keys=["versioned"], args=[n]) for n in (2, 1, 3)]

    assert answers == [1, 0, 1]
