"""JSON behind a wire header, by the event's own types."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from headrace.schema.wire import frame, unframe
from support.cases.poison import GOOD, PAYMENT, field, struct
from support.fakes.fake_registry import FakeRegistry, registry
from support.fakes.kafka_rows import decoded, encoded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["registry"]


def test_a_value_behind_a_known_header_is_read(
    spark: SparkSession, registry: FakeRegistry
) -> None:
    schema_id = registry.add("JSON", "{}")
    value = frame(schema_id, json.dumps(GOOD).encode())
    options = {"format": "json-schema", "registry": registry.address}

    (row,) = decoded(spark, [value], PAYMENT, options)

    assert (row["_dead"], row["card_id"]) == (None, "c-1")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (json.dumps(GOOD).encode(), "wire-header-missing"),
        (frame(1, b'{"card_id": 1}'), "field-wrong-type"),
        (frame(1, b""), "json-malformed"),
        (frame(2, b"{}"), "schema-not-compatible"),
        (frame(3, b"{}"), "schema-id-unknown"),
    ],
)
def test_other_values_are_dead_letters(
    spark: SparkSession, registry: FakeRegistry, value: bytes, reason: str
) -> None:
    registry.add("JSON", "{}")
    registry.add("AVRO", '"long"')
    options = {"format": "json-schema", "registry": registry.address}

    (row,) = decoded(spark, [value], PAYMENT, options)

    assert row["_dead"]["reason"] == reason


def test_what_is_written_is_json_behind_the_header(spark: SparkSession) -> None:
    schema = struct(field("n", "long"), field("note", "string"))
    options = {"format": "json-schema", "schema_id": "258"}

    (value,) = encoded(spark, [{"n": 5, "note": None}], schema, options)

    assert unframe(value) == (258, b'{"n":5}')
