"""Values that name a schema of the registry are read by that schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal

import pytest
from confluent_kafka.schema_registry import (
    Schema,
    SchemaReference,
    SchemaRegistryClient,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from headrace.services import Stack
from support.harness.log_use import consumed, new_topic, run, write

PAYMENT = {
    "type": "record",
    "name": "Payment",
    "namespace": "bank",
    "fields": [
        {"name": "card", "type": "string"},
        {
            "name": "amount",
            "type": {
                "type": "bytes",
                "logicalType": "decimal",
                "precision": 9,
                "scale": 2,
            },
        },
    ],
}


@pytest.fixture
def registry(stack: Stack) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": stack.address("registry")}) as client:
        yield client


@pytest.fixture
def payments(stack: Stack, registry: SchemaRegistryClient) -> str:
    """Give a topic with one Avro event, as the serializer of others writes it."""
    topic = new_topic(stack)
    serialize = AvroSerializer(registry, json.dumps(PAYMENT))
    context = SerializationContext(topic, MessageField.VALUE)
    value = serialize({"card": "ann", "amount": Decimal("1.10")}, context)
    write(stack, topic, [value])
    return topic


def framed(number: int, data: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + data


def test_avro_is_shown_as_json(stack: Stack, payments: str) -> None:
    assert consumed(stack, payments, "--values") == [{"card": "ann", "amount": "1.10"}]


def test_a_registry_can_be_named_or_left_aside(stack: Stack, payments: str) -> None:
    there = ["--registry", stack.address("registry")]
    [named] = consumed(stack, payments, "--values", *there)
    [aside] = consumed(stack, payments, "--values", "--registry", "none")

    assert named == {"card": "ann", "amount": "1.10"}
    assert list(aside) == ["base64"]


def test_a_registry_that_does_not_answer_is_an_error_once_it_is_needed(
    stack: Stack, payments: str
) -> None:
    nowhere = ["--registry", "http://127.0.0.1:1"]
    plain = new_topic(stack)
    write(stack, plain, [b'{"n": 1}'])

    done = run(stack, "consume", payments, *nowhere)

    assert done.returncode == 1
    assert "[registry-unreachable]" in done.stderr
    assert consumed(stack, plain, "--values", *nowhere) == [{"n": 1}]


def test_avro_that_refers_to_another_schema_is_shown_as_json(
    stack: Stack, registry: SchemaRegistryClient
) -> None:
    topic = new_topic(stack)
    card = {"type": "enum", "name": "bank.Kind", "symbols": ["DEBIT", "CREDIT"]}
    order = {
        "type": "record",
        "name": "bank.Order",
        "fields": [{"name": "kind", "type": "bank.Kind"}],
    }
    registry.register_schema(f"{topic}-kind", Schema(json.dumps(card), "AVRO"))
    reference = SchemaReference("bank.Kind", f"{topic}-kind", 1)
    number = registry.register_schema(
        f"{topic}-value", Schema(json.dumps(order), "AVRO", [reference])
    )
    write(stack, topic, [framed(number, b"\x02")])

    assert consumed(stack, topic, "--values") == [{"kind": "CREDIT"}]


def test_json_with_a_schema_is_shown_as_json(
    stack: Stack, registry: SchemaRegistryClient
) -> None:
    topic = new_topic(stack)
    # Without its first line the registry does not take it for a JSON schema.
    draft = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
    schema = Schema(json.dumps(draft), "JSON")
    number = registry.register_schema(f"{topic}-value", schema)
    write(stack, topic, [framed(number, b'{"n": 1.50}')])

    assert run(stack, "consume", topic, "--values").stdout == '{"n": 1.50}\n'


def test_protobuf_is_shown_in_base64_with_its_schemas_id(
    stack: Stack, registry: SchemaRegistryClient
) -> None:
    topic = new_topic(stack)
    schema = Schema('syntax = "proto3"; message M { int32 n = 1; }', "PROTOBUF")
    number = registry.register_schema(f"{topic}-value", schema)
    write(stack, topic, [framed(number, b"\x00\x08\x01")])

    [found] = consumed(stack, topic, "--values")

    assert found["schema_id"] == number
    assert set(found) == {"base64", "schema_id"}


def test_bytes_that_only_look_as_if_they_named_a_schema_are_shown_as_they_are(
    stack: Stack,
) -> None:
    topic = new_topic(stack)
    write(stack, topic, [framed(2**31 - 1, b"abc")])

    [found] = consumed(stack, topic, "--values")

    assert list(found) == ["base64"]
