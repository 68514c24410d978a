"""Schemas in other languages, derived from Spark's; deterministic, and checked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace import SchemaError
from headrace.schema.avro import avro_schema
from headrace.schema.formats import Side, reading, writing
from headrace.schema.json_schema import json_schema
from headrace.schema.proto_text import first_message
from headrace.schema.protobuf import numbered, proto_schema
from headrace.schema.wire import unframe


def field(name: str, kind: Any, *, required: bool = False, **metadata: Any) -> Any:
    known = {"name": name, "type": kind, "nullable": not required}
    return known | {"metadata": metadata}


def struct(*fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def list_of(kind: Any, *, nulls: bool = False) -> dict[str, Any]:
    return {"type": "array", "elementType": kind, "containsNull": nulls}


def proto(schema: dict[str, Any], latest: str | None = None) -> str:
    return proto_schema(numbered(schema, latest), "Payment", latest)


HOME = struct(field("city", "string", required=True))

PAYMENT = struct(
    field("id", "string", required=True, headrace="uuid"),
    field("amount", "decimal(12,2)", required=True),
    field("made_at", "timestamp", required=True),
    field("note", "string"),
    field("country", "string", headrace="enum", symbols=["CH", "DE"]),
    field("home", HOME),
    field("stops", list_of(HOME), required=True),
)


def test_the_avro_schema_says_all_that_the_event_does() -> None:
    schema = json.loads(avro_schema(PAYMENT, "Payment"))

    assert {f["name"]: f["type"] for f in schema["fields"]} == {
        "id": {"type": "string", "logicalType": "uuid"},
        "amount": {
            "type": "bytes",
            "logicalType": "decimal",
            "precision": 12,
            "scale": 2,
        },
        "made_at": {"type": "long", "logicalType": "timestamp-micros"},
        "note": ["null", "string"],
        "country": [
            "null",
            {"type": "enum", "name": "Payment_country", "symbols": ["CH", "DE"]},
        ],
        "home": [
            "null",
            {
                "type": "record",
                "name": "Payment_home",
                "fields": [{"name": "city", "type": "string"}],
            },
        ],
        "stops": {
            "type": "array",
            "items": {
                "type": "record",
                "name": "Payment_stops",
                "fields": [{"name": "city", "type": "string"}],
            },
        },
    }


def test_symbols_that_avro_cannot_name_are_texts() -> None:
    schema = struct(field("s", "string", required=True, headrace="enum", symbols=["½"]))

    assert json.loads(avro_schema(schema, "E"))["fields"][0]["type"] == "string"


def test_the_json_schema_is_closed_and_lists_what_is_required() -> None:
    schema = json.loads(json_schema(PAYMENT, "Payment"))

    assert schema["additionalProperties"] is False
    assert schema["required"] == ["id", "amount", "made_at", "stops"]
    assert schema["properties"]["note"] == {"type": ["string", "null"]}
    assert schema["properties"]["country"] == {"enum": ["CH", "DE", None]}
    assert schema["properties"]["made_at"]["format"] == "date-time"


def test_the_proto_text_numbers_fields_in_their_order() -> None:
    assert proto(PAYMENT) == (
        'syntax = "proto3";\n\n'
        'import "google/protobuf/timestamp.proto";\n\n'
        "message Payment {\n"
        "  string id = 1;\n"
        "  string amount = 2;\n"
        "  google.protobuf.Timestamp made_at = 3;\n"
        "  optional string note = 4;\n"
        "  optional string country = 5;\n"
        "  message Home {\n"
        "    string city = 1;\n"
        "  }\n"
        "  optional Home home = 6;\n"
        "  message Stops {\n"
        "    string city = 1;\n"
        "  }\n"
        "  repeated Stops stops = 7;\n"
        "}\n"
    )


def test_fields_keep_their_numbers_when_others_come_and_go() -> None:
    one = struct(field("a", "long"), field("b", "long"), field("c", "string"))
    two = struct(field("new", "long"), field("c", "string"), field("a", "long"))

    first = proto(one)
    second = proto(two, first)
    third = proto(struct(field("last", "long")), second)

    assert "  optional int64 new = 4;" in second
    assert "  optional string c = 3;" in second
    assert "  reserved 2;" in second
    assert "  optional int64 last = 5;" in third
    assert "  reserved 1, 2, 3, 4;" in third


def test_nested_fields_keep_their_numbers() -> None:
    inner = struct(field("x", "long"), field("y", "long"))
    first = proto(struct(field("home", inner)))

    turned = struct(*reversed(inner["fields"]))
    second = proto(struct(field("home", turned)), first)

    assert "optional int64 x = 1;" in second
    assert "optional int64 y = 2;" in second


def test_a_foreign_proto_text_is_understood() -> None:
    text = """
    syntax = "proto3"; // a comment
    package com.acme;
    option java_package = "com.acme";
    /* message Hidden { string no = 1; } */
    message Order {
      enum Kind { UNKNOWN = 0; }
      message Line { string sku = 4; }
      repeated .com.acme.Line lines = 3 [deprecated = true];
      oneof which { int64 a = 7; string b = 8; }
      map<string, int64> counts = 9;
      reserved 2, 15, 9 to 11;
      reserved "foo";
    }
    message Second { string other = 1; }
    """

    found = first_message(text)

    assert found
    assert {name: f.number for name, f in found.fields.items()} == {
        "lines": 3,
        "a": 7,
        "b": 8,
        "counts": 9,
    }
    assert found.fields["lines"].repeated
    assert found.messages["Line"].fields["sku"].number == 4
    assert found.reserved == {2, 9, 10, 11, 15}


@pytest.mark.parametrize("declared", ["sint64", "fixed64", "string", "repeated int64"])
def test_a_type_that_means_other_bytes_is_refused(declared: str) -> None:
    latest = f"message M {{ {declared} n = 1; }}"

    with pytest.raises(SchemaError, match="schema-incompatible"):
        numbered(struct(field("n", "long")), latest)


@pytest.mark.parametrize(
    "schema",
    [
        struct(field("tags", list_of("string"))),
        struct(field("tags", list_of("string", nulls=True), required=True)),
        struct(field("grid", list_of(list_of("long")), required=True)),
        struct(field("s", "short")),
    ],
)
def test_what_protobuf_cannot_carry_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="schema-type-unsupported"):
        proto(schema)


@pytest.mark.parametrize("write", [avro_schema, json_schema])
def test_an_unknown_type_is_refused(write: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        write(struct(field("v", "variant")), "Event")

    assert caught.value.slug == "schema-type-unsupported"
    assert 'field "v" of type variant' in caught.value.fact


@pytest.mark.parametrize("write", [avro_schema, lambda s, _: proto(s)])
def test_a_name_that_the_language_cannot_have_is_refused(write: Any) -> None:
    with pytest.raises(SchemaError, match="schema-name-unsupported"):
        write(struct(field("count(1)", "long")), "Event")


def test_plain_json_needs_no_registry() -> None:
    assert reading("json", PAYMENT, Side("t"), None).options == {
        "format": "json",
        "what": "value",
    }


@pytest.mark.parametrize("prepare", [reading, writing])
def test_other_formats_need_one(prepare: Any) -> None:
    more = {"name": "E"} if prepare is writing else {}

    with pytest.raises(SchemaError, match="registry-needed"):
        prepare("avro", PAYMENT, Side("t"), None, **more)
    with pytest.raises(SchemaError, match="format-unknown"):
        prepare("xml", PAYMENT, Side("t"), None, **more)


@pytest.mark.parametrize("value", [b"", b"\x00\x00", b'{"a": 1}'])
def test_a_value_without_a_header_is_told(value: bytes) -> None:
    with pytest.raises(SchemaError, match="wire-header-absent"):
        unframe(value)
