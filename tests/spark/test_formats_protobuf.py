"""Protobuf behind a wire header: fields are known by their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from headrace.schema.wire import frame, unframe
from support.cases.poison import field, list_of, struct
from support.fakes.fake_registry import FakeRegistry, registry
from support.fakes.kafka_rows import decoded, encoded

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

__all__ = ["registry"]

Read = Callable[..., "Row"]

EVENT = struct(
    field("name", "string", required=True, number=1),
    field("n", "long", required=True, number=2),
    field("note", "string", number=5),
    field("ns", list_of("long"), required=True, number=6),
    field("money", "decimal(6,2)", number=7),
    field("at", "timestamp", number=8),
    field("home", struct(field("city", "string", required=True, number=3)), number=9),
)

FIRST_MESSAGE = b"\x00"


def foreign_message() -> Any:
    """Make the same message with Google's own library."""
    file = descriptor_pb2.FileDescriptorProto(name="event.proto", syntax="proto3")
    message = file.message_type.add(name="Event")
    kinds = {"name": (1, "STRING"), "n": (2, "INT64"), "ns": (6, "INT64")}
    for name, (number, kind) in kinds.items():
        added = message.field.add(name=name, number=number, json_name=name)
        added.type = descriptor_pb2.FieldDescriptorProto.Type.Value(f"TYPE_{kind}")
        repeated = "REPEATED" if name == "ns" else "OPTIONAL"
        added.label = descriptor_pb2.FieldDescriptorProto.Label.Value(
            f"LABEL_{repeated}"
        )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Event"))


@pytest.fixture
def read(spark: SparkSession, registry: FakeRegistry) -> Read:
    schema_id = registry.add("PROTOBUF", 'syntax = "proto3";')

    def read(body: bytes, path: bytes = FIRST_MESSAGE) -> Row:
        options = {"format": "protobuf", "registry": registry.address}
        (row,) = decoded(spark, [frame(schema_id, path + body)], EVENT, options)
        return row

    return read


def test_a_foreign_writer_is_understood(read: Read) -> None:
    foreign = foreign_message()(name="é", n=-5, ns=[1, -1, 2**40])

    row = read(foreign.SerializeToString())

    assert (row["name"], row["n"], row["ns"]) == ("é", -5, [1, -1, 2**40])


def test_what_we_write_a_foreign_reader_reads(spark: SparkSession) -> None:
    simple = struct(*(f for f in EVENT["fields"] if f["name"] in {"name", "n", "ns"}))
    rows = [{"name": "é", "n": -5, "ns": [1, 2]}, {"name": "", "n": 0, "ns": []}]
    options = {"format": "protobuf", "schema_id": "4"}

    values = encoded(spark, rows, simple, options)

    taken = [unframe(value) for value in values]
    assert {(schema_id, body[:1]) for schema_id, body in taken} == {(4, FIRST_MESSAGE)}
    found = [foreign_message().FromString(body[1:]) for _, body in taken]
    assert rows == [{"name": m.name, "n": m.n, "ns": list(m.ns)} for m in found]


def test_what_was_not_written_is_empty_or_null(read: Read) -> None:
    row = read(b"")

    assert (row["_dead"], row["name"], row["n"], row["ns"]) == (None, "", 0, [])
    assert (row["note"], row["money"], row["at"], row["home"]) == (None,) * 4


def test_numbers_that_the_event_does_not_have_are_passed_over(read: Read) -> None:
    row = read(b"\x10\x05" + b"\xa2\x06\x02hi" + b"\xa8\x06\x01")

    assert (row["_dead"], row["n"]) == (None, 5)


def test_a_list_may_come_packed_or_not(read: Read) -> None:
    assert read(b"\x30\x01\x30\x02")["ns"] == [1, 2]
    assert read(b"\x32\x02\x01\x02")["ns"] == [1, 2]
    assert read(b"\x32\x01\x01\x30\x02")["ns"] == [1, 2]


@pytest.mark.parametrize("path", [b"\x00", b"\x02\x00"])
def test_the_first_message_has_two_spellings(read: Read, path: bytes) -> None:
    assert read(b"\x10\x05", path)["n"] == 5


@pytest.mark.parametrize(
    ("body", "reason", "detail"),
    [
        (b"\x10", "protobuf-malformed", ""),
        (b"\x10" + b"\xff" * 11, "protobuf-malformed", ""),
        (b"\x0a\x7fab", "protobuf-malformed", ""),
        (b"\x0a\xff\xff\xff\xff\x07", "protobuf-malformed", ""),
        (b"\x00\x01", "protobuf-malformed", ""),
        (b"\x4a\x02\x1a\x09", "protobuf-malformed", ""),
        (b"\xa3\x06" * 100_000, "protobuf-malformed", ""),
        (b"\x08\x05", "field-wrong-type", "name: wire type 2 is required, 0 came"),
        (b"\x0a\x01\xff", "text-not-utf8", "name: byte 0, 0xff"),
        (b"\x3a\x021x", "field-wrong-type", "money: a decimal number"),
        (b"\x3a\x0512345", "number-out-of-range", "money"),
        (b"\x42\x02\x10\xff", "protobuf-malformed", ""),
        (b"\x42\x06\x10\x80\x94\xeb\xdc\x03", "timestamp-unreadable", "at: 0 seconds"),
        (b"\x4a\x02\x18\x01", "field-wrong-type", "home.city"),
    ],
)
def test_broken_values_are_dead_letters(
    read: Read, body: bytes, reason: str, detail: str
) -> None:
    dead = read(body)["_dead"]

    assert dead["reason"] == reason
    assert detail in dead["detail"]


def test_another_message_of_the_file_is_not_compatible(read: Read) -> None:
    assert read(b"", b"\x02\x02")["_dead"]["reason"] == "schema-not-compatible"
    assert read(b"", b"\x04\x00\x00")["_dead"]["reason"] == "schema-not-compatible"
