"""Avro behind a wire header: each value is read by the schema that wrote it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from headrace.schema.avro import avro_schema
from headrace.schema.wire import frame, unframe
from support.cases.poison import PAYMENT, field, list_of, struct
from support.fakes.fake_registry import FakeRegistry, registry
from support.fakes.kafka_rows import decoded, encoded

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

__all__ = ["registry"]

Read = Callable[..., list["Row"]]

COUNTED = struct(field("n", "long", required=True), field("note", "string"))


def avro(schema: Any, value: Any) -> bytes:
    """Write a value as a foreign program would."""
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), value)
    return body.getvalue()


def record(*fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "com.acme.Counted", "fields": list(fields)}


def named(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind}


@pytest.fixture
def read(spark: SparkSession, registry: FakeRegistry) -> Read:
    def read(*values: bytes | None, schema: Any = COUNTED) -> list[Row]:
        options = {"format": "avro", "registry": registry.address}
        return decoded(spark, values, schema, options)

    return read


@pytest.fixture
def verdict(read: Read, registry: FakeRegistry) -> Callable[..., tuple[str, str]]:
    """Give reason and detail for a value by a writer's schema."""

    def verdict(writer: Any, body: bytes, schema: Any = COUNTED) -> tuple[str, str]:
        schema_id = registry.add("AVRO", json.dumps(writer))
        (row,) = read(frame(schema_id, body), schema=schema)
        return row["_dead"]["reason"], row["_dead"]["detail"]

    return verdict


def test_a_foreign_writer_of_all_types_is_understood(
    read: Read, registry: FakeRegistry
) -> None:
    schema = json.loads(avro_schema(PAYMENT, "Payment"))
    schema_id = registry.add("AVRO", json.dumps(schema))
    payment = {
        "card_id": "é",
        "user_id": -(2**63),
        "amount": Decimal("-12.34"),
        "country": "FR",
        "made_at": datetime(1969, 1, 1, 1, 2, 3, 456789, tzinfo=UTC),
        "score": 0.1,
        "born": date(1899, 12, 31),
        "token": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "photo": b"\x00\xff",
        "flagged": False,
        "tags": ["a", "b"],
        "home": {"city": "Bern", "zip": None},
        "stops": [{"city": "A"}, {"city": "B"}],
    }

    (row,) = read(frame(schema_id, avro(schema, payment)), schema=PAYMENT)

    found = row.asDict(recursive=True)
    assert found.pop("_dead") is None
    del found["_origin"]
    found["made_at"] = found["made_at"].astimezone(UTC)
    found["photo"] = bytes(found["photo"])
    assert found == payment


def test_what_we_write_a_foreign_reader_reads(spark: SparkSession) -> None:
    rows: list[dict[str, object]] = [{"n": 5, "note": None}, {"n": -1, "note": "é"}]
    options = {"format": "avro", "schema_id": "9", "schema": json.dumps(COUNTED)}

    values = encoded(spark, rows, COUNTED, options)

    schema = fastavro.parse_schema(json.loads(avro_schema(COUNTED, "Counted")))
    taken = [unframe(value) for value in values]
    assert {schema_id for schema_id, _ in taken} == {9}
    assert rows == [
        fastavro.schemaless_reader(io.BytesIO(body), schema, None) for _, body in taken
    ]


def test_an_older_writer_leaves_the_new_field_null(
    read: Read, registry: FakeRegistry
) -> None:
    older = record(named("n", "long"))
    old_id = registry.add("AVRO", json.dumps(older))

    (row,) = read(frame(old_id, avro(older, {"n": 3})))

    assert (row["n"], row["note"], row["_dead"]) == (3, None, None)


def test_a_newer_writers_fields_are_passed_over(
    read: Read, registry: FakeRegistry
) -> None:
    extra = [named("x", {"type": "array", "items": "string"}), named("n", "int")]
    newer = record(*extra, named("note", ["null", "string"]), named("y", "double"))
    new_id = registry.add("AVRO", json.dumps(newer))
    value = {"x": ["a", "b"], "n": 3, "note": "hi", "y": 0.5}

    (row,) = read(frame(new_id, avro(newer, value)))

    assert (row["n"], row["note"], row["_dead"]) == (3, "hi", None)


def test_each_schema_is_asked_for_once(read: Read, registry: FakeRegistry) -> None:
    one, two = record(named("n", "long")), record(named("n", "int"))
    ids = [registry.add("AVRO", json.dumps(schema)) for schema in (one, two)]
    values = [frame(schema_id, avro(one, {"n": 1})) for schema_id in ids * 50]

    assert [row["n"] for row in read(*values)] == [1] * 100
    assert registry.asked == {1: 1, 2: 1}


def test_milliseconds_are_not_taken_for_microseconds(
    read: Read, registry: FakeRegistry
) -> None:
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    writer = record(named("at", millis))
    schema_id = registry.add("AVRO", json.dumps(writer))
    at = datetime(2026, 3, 29, 10, tzinfo=UTC)
    body = avro(writer, {"at": at})

    (row,) = read(frame(schema_id, body), schema=struct(field("at", "timestamp")))

    assert row["at"].astimezone(UTC) == at


def test_a_null_is_refused_only_where_it_stands(
    read: Read, registry: FakeRegistry
) -> None:
    writer = record(named("n", ["null", "long"]))
    schema_id = registry.add("AVRO", json.dumps(writer))
    values = [frame(schema_id, avro(writer, {"n": n})) for n in (1, None, 2)]

    rows = read(*values)

    assert [row["n"] for row in rows] == [1, None, 2]
    assert rows[1]["_dead"]["reason"] == "field-null"


ONE = record(named("n", "long"))
TEXT = record(named("n", "long"), named("note", "string"))


@pytest.mark.parametrize(
    ("writer", "body", "reason", "detail"),
    [
        (ONE, b"", "avro-malformed", "ends too early|end too early"),
        (ONE, b"\x80", "avro-malformed", "end too early"),
        (ONE, b"\x02\x02", "avro-malformed", "1 bytes are left"),
        (ONE, b"\xff" * 11, "avro-malformed", ""),
        (TEXT, b"\x02\x08ab", "avro-malformed", "end too early"),
        (TEXT, b"\x02\xfe\xff\xff\xff\x0f" + b"x", "avro-malformed", "end too early"),
        (TEXT, b"\x02\x01", "avro-malformed", "end too early"),
        (TEXT, b"\x02\x02\xff", "text-not-utf8", "note: byte 0, 0xff"),
        (
            record(named("n", ["null", "long"])),
            b"\x08",
            "avro-malformed",
            "no branch 4",
        ),
        (record(named("n", "string")), b"\x02a", "schema-not-compatible", "n: bigint"),
        (record(named("m", "long")), b"\x02", "schema-not-compatible", "n: the writer"),
        ("long", b"\x02", "schema-not-compatible", "of type long"),
    ],
)
def test_broken_values_are_dead_letters(
    verdict: Callable[..., tuple[str, str]],
    writer: Any,
    body: bytes,
    reason: str,
    detail: str,
) -> None:
    found, said = verdict(writer, body)

    assert found == reason
    assert any(part in said for part in detail.split("|"))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "value-missing"),
        (b"", "wire-header-missing"),
        (b"\x00\x00\x00\x00", "wire-header-missing"),
        (b'{"n": 5}', "wire-header-missing"),
        (frame(4000, b"\x02"), "schema-id-unknown"),
        (frame(2**32 - 1, b"\x02"), "schema-id-unknown"),
    ],
)
def test_a_value_without_a_known_schema_is_a_dead_letter(
    read: Read, value: bytes | None, reason: str
) -> None:
    (row,) = read(value)

    assert row["_dead"]["reason"] == reason


def test_a_schema_of_another_format_is_not_compatible(
    read: Read, registry: FakeRegistry
) -> None:
    (row,) = read(frame(registry.add("JSON", "{}"), b"{}"))

    assert row["_dead"]["reason"] == "schema-not-compatible"
    assert "JSON, not AVRO" in row["_dead"]["detail"]


def test_a_list_that_announces_more_than_it_holds_costs_no_memory(
    verdict: Callable[..., tuple[str, str]],
) -> None:
    writer = record(named("ns", {"type": "array", "items": "long"}))
    schema = struct(field("ns", list_of("long")))

    reason, _ = verdict(writer, b"\xfe\xff\xff\xff\x0f\x02", schema)

    assert reason == "avro-malformed"


def test_a_symbol_that_the_event_does_not_have_is_unknown(
    verdict: Callable[..., tuple[str, str]],
) -> None:
    kind = {"type": "enum", "name": "C", "symbols": ["CH", "AT"]}
    schema = struct(field("c", "string", headrace="enum", symbols=["CH", "DE"]))

    reason, detail = verdict(record(named("c", kind)), b"\x02", schema)

    assert (reason, detail) == (
        "enum-unknown",
        'c: one of CH, DE is required, "AT" came',
    )


def test_a_decimal_of_more_digits_is_out_of_range(
    verdict: Callable[..., tuple[str, str]],
) -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 4}
    writer = record(named("a", kind))
    schema = struct(field("a", "decimal(6,2)"))

    reason, detail = verdict(writer, avro(writer, {"a": Decimal("1.2345")}), schema)

    assert (reason, "1.2345" in detail) == ("number-out-of-range", True)


def test_a_registry_that_is_down_fails_the_batch_by_name(
    spark: SparkSession,
) -> None:
    options = {"format": "avro", "registry": "http://127.0.0.1:9"}

    with pytest.raises(Exception, match=r"headrace-refusal.*registry-unreachable"):
        decoded(spark, [frame(1, b"\x02")], COUNTED, options)
