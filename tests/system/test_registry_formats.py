"""Schemas in the real registry: evolution in both directions, and its limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from headrace import SchemaError
from headrace._spark import session
from headrace._spark.bridge import decode, encode
from headrace.schema.formats import Side, reading, writing
from headrace.schema.registry import Registry

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

    from headrace.services import Stack

FORMATS = ["avro", "json-schema", "protobuf"]

KAFKA_COLUMNS = (
    "null as key",
    "value",
    "'t' as topic",
    "0 as partition",
    "0L as offset",
    "null as timestamp",
)


def field(name: str, kind: Any, *, required: bool = False) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": not required, "metadata": {}}


def struct(*fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


OLD = struct(field("name", "string", required=True), field("n", "long", required=True))
NEW = struct(*OLD["fields"], field("note", "string"))
OTHER = struct(field("name", "long", required=True))


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return session("headrace-tests")


@pytest.fixture(scope="module")
def registry(stack: Stack) -> Registry:
    return Registry(stack.address("registry"))


Carry = Callable[..., "Row"]


@pytest.fixture
def carry(spark: SparkSession, registry: Registry) -> Carry:
    """Write an event by one schema and read it by another."""

    def carry(format_: str, side: Side, writer: Any, row: Any, reader: Any) -> Row:
        written = writing(format_, writer, side, registry, name="Counted")
        columns = StructType().add("payload", StructType.fromJson(writer))
        rows = spark.createDataFrame([(row,)], columns)
        values = encode(rows, written.options).selectExpr(*KAFKA_COLUMNS)
        prepared = reading(format_, reader, side, registry)
        read: DataFrame = decode(values, prepared.schema_json, prepared.options)
        (found,) = read.collect()
        return found

    return carry


@pytest.mark.parametrize("format_", FORMATS)
def test_an_optional_field_can_be_added(carry: Carry, format_: str) -> None:
    side = Side(f"added.{format_}")

    before = carry(format_, side, OLD, ("a", 1), OLD)
    older = carry(format_, side, OLD, ("a", 1), NEW)
    both = carry(format_, side, NEW, ("a", 1, "hi"), NEW)
    newer = carry(format_, side, NEW, ("a", 1, "hi"), OLD)

    rows = [before, older, both, newer]
    assert [row["_dead"] for row in rows] == [None] * 4
    assert [(row["name"], row["n"]) for row in rows] == [("a", 1)] * 4
    assert (older["note"], both["note"]) == (None, "hi")


@pytest.mark.parametrize("format_", FORMATS)
def test_an_incompatible_change_is_refused(registry: Registry, format_: str) -> None:
    side = Side(f"refused.{format_}")
    writing(format_, OLD, side, registry, name="Counted")

    with pytest.raises(SchemaError) as caught:
        writing(format_, OTHER, side, registry, name="Counted")

    assert caught.value.slug == "schema-incompatible"
    assert caught.value.detail


@pytest.mark.parametrize("format_", FORMATS)
def test_the_same_schema_keeps_its_id(registry: Registry, format_: str) -> None:
    side = Side(f"same.{format_}")
    one = writing(format_, OLD, side, registry, name="Counted")
    two = writing(format_, OLD, side, registry, name="Counted")

    assert one.options == two.options
    latest = registry.latest(side.subject)
    assert latest
    assert str(latest.id) == one.options["schema_id"]
    assert registry.by_id(latest.id) == latest


def test_keys_have_a_subject_of_their_own(registry: Registry) -> None:
    key = struct(field("id", "long", required=True))
    writing("avro", OLD, Side("keyed"), registry, name="Counted")
    writing("avro", key, Side("keyed", "key"), registry, name="CountedKey")

    latest = registry.latest("keyed-key")

    assert latest
    assert json.loads(latest.text)["name"] == "CountedKey"


def test_what_is_not_there_is_none(registry: Registry) -> None:
    assert registry.latest("never-value") is None
    assert registry.by_id(999_999) is None


def test_a_check_registers_nothing(registry: Registry) -> None:
    writing("avro", OLD, Side("checked"), registry, name="Counted")
    before = registry.latest("checked-value")
    other = '{"type": "record", "name": "Counted", "fields": []}'

    assert registry.accepts("checked-value", "avro", other)
    assert not registry.accepts("checked-value", "avro", '"long"')
    assert registry.latest("checked-value") == before


def test_a_schema_that_is_none_is_rejected(registry: Registry) -> None:
    with pytest.raises(SchemaError, match="schema-rejected"):
        registry.register("broken-value", "avro", "{nonsense")


def test_an_address_without_a_registry_is_named(stack: Stack) -> None:
    wrong = Registry(stack.address("registry") + "/nowhere")

    with pytest.raises(SchemaError, match="registry-unreachable") as caught:
        wrong.latest("t-value")

    assert wrong.address in caught.value.fact
    with pytest.raises(SchemaError, match="registry-unreachable"):
        Registry("http://127.0.0.1:9").latest("t-value")
