"""Values that name a schema are decoded by it, and by nothing else."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import fastavro
import pytest

from headrace.errors import SchemaError
from headrace.log import SchemaBook, value_json

PAYMENT: dict[str, object] = {
    "type": "record",
    "name": "Payment",
    "fields": [
        {"name": "cents", "type": "long"},
        {
            "name": "price",
            "type": {
                "type": "bytes",
                "logicalType": "decimal",
                "precision": 9,
                "scale": 2,
            },
        },
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "note", "type": ["null", "string"]},
        {"name": "raw", "type": "bytes"},
        {"name": "rates", "type": {"type": "array", "items": "double"}},
    ],
}
VALUE = {
    "cents": 5,
    "price": Decimal("1.10"),
    "at": datetime(2026, 11, 15, 10, tzinfo=UTC),
    "note": None,
    "raw": b"\xff",
    "rates": [0.5, float("nan")],
}
ORDER: dict[str, object] = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "payment", "type": "Payment"}],
}
ANSWERS = {
    "/schemas/ids/1": {"schema": json.dumps(PAYMENT)},
    "/schemas/ids/2": {
        "schema": json.dumps(ORDER),
        "references": [{"name": "Payment", "subject": "pay/ments", "version": 1}],
    },
    "/subjects/pay%2Fments/versions/1": {"schema": json.dumps(PAYMENT)},
    "/schemas/ids/3": {"schema": "{}", "schemaType": "JSON"},
    "/schemas/ids/4": {"schema": "message M {}", "schemaType": "PROTOBUF"},
    "/schemas/ids/5": {"schema": '{"type": "nothing"}'},
}


class Registry(ThreadingHTTPServer):
    """Answers what a registry would, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[str] = []


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Registry)
        path = self.path.removeprefix("/apis/ccompat/v7")
        self.server.asked.append(path)
        status = 500 if path.endswith("/6") else 200 if path in ANSWERS else 404
        body = json.dumps(ANSWERS.get(path, {"error_code": 40403})).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@pytest.fixture
def registry() -> Iterator[Registry]:
    with Registry() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def book(registry: Registry) -> SchemaBook:
    return SchemaBook(f"http://127.0.0.1:{registry.server_port}/apis/ccompat/v7/")


def framed(schema_id: int, data: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + data


def avro(schema: dict[str, object], value: object) -> bytes:
    stream = io.BytesIO()
    named: dict[str, dict[Any, Any]] = {}
    fastavro.parse_schema(PAYMENT, named_schemas=named)
    parsed = fastavro.parse_schema(schema, named_schemas=named)
    fastavro.schemaless_writer(stream, parsed, value)
    return stream.getvalue()


SHOWN = {
    "cents": 5,
    "price": "1.10",
    "at": "2026-11-15T10:00:00+00:00",
    "note": None,
    "raw": {"base64": "/w=="},
    "rates": [0.5, "nan"],
}


def test_avro_is_decoded_with_the_schema_that_the_value_names(
    book: SchemaBook,
) -> None:
    assert json.loads(value_json(framed(1, avro(PAYMENT, VALUE)), book)) == SHOWN


def test_a_schema_that_refers_to_others_is_put_together(book: SchemaBook) -> None:
    data = framed(2, avro(ORDER, {"payment": VALUE}))

    assert json.loads(value_json(data, book)) == {"payment": SHOWN}


def test_a_schema_is_asked_for_once(book: SchemaBook, registry: Registry) -> None:
    for _ in range(3):
        value_json(framed(1, avro(PAYMENT, VALUE)), book)
        value_json(framed(9, b"abc"), book)

    assert registry.asked == ["/schemas/ids/1", "/schemas/ids/9"]


def test_json_with_a_schema_is_shown_as_json(book: SchemaBook) -> None:
    assert value_json(framed(3, b'{"n": 1.10}'), book) == '{"n": 1.10}'


def test_protobuf_is_shown_in_base64_with_its_schemas_id(book: SchemaBook) -> None:
    data = framed(4, b"\x00\x08\x01")
    shown = json.loads(value_json(data, book))

    assert shown["schema_id"] == 4
    assert base64.b64decode(shown["base64"]) == data


@pytest.mark.parametrize("left", [b"", b"\x02", b"\xff" * 40])
def test_a_value_that_its_schema_does_not_fit_is_shown_whole_with_the_problem(
    left: bytes, book: SchemaBook
) -> None:
    data = framed(1, left)
    shown = json.loads(value_json(data, book))

    assert shown["schema_id"] == 1
    assert shown["problem"]
    assert base64.b64decode(shown["base64"]) == data


def test_bytes_behind_an_avro_value_are_a_problem(book: SchemaBook) -> None:
    shown = json.loads(value_json(framed(1, avro(PAYMENT, VALUE) + b"x"), book))

    assert shown["problem"] == "bytes are left over"


def test_a_value_that_names_no_schema_there_is_is_shown_as_it_is(
    book: SchemaBook,
) -> None:
    assert json.loads(value_json(framed(9, b"abc"), book)) == {
        "base64": base64.b64encode(framed(9, b"abc")).decode()
    }


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0\0", b'{"a": 1}'])
def test_a_value_without_the_mark_asks_for_nothing(
    data: bytes, book: SchemaBook, registry: Registry
) -> None:
    value_json(data, book)

    assert registry.asked == []


def test_a_schema_that_is_none_is_named(book: SchemaBook) -> None:
    with pytest.raises(SchemaError) as caught:
        value_json(framed(5, b"x"), book)

    assert caught.value.slug == "schema-unusable"
    assert "schema 5" in caught.value.fact


def test_a_registry_that_answers_with_an_error_is_named(book: SchemaBook) -> None:
    with pytest.raises(SchemaError) as caught:
        value_json(framed(6, b"x"), book)

    assert caught.value.slug == "registry-unreachable"
    assert "500" in str(caught.value.detail)


def test_a_registry_that_is_not_there_is_named() -> None:
    with pytest.raises(SchemaError) as caught:
        value_json(framed(1, b"x"), SchemaBook("http://127.0.0.1:1"))

    assert caught.value.slug == "registry-unreachable"
    assert "--registry none" in str(caught.value.hint)


def test_a_registry_on_this_machine_is_asked_without_a_proxy(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    near = SchemaBook(f"http://127.0.0.1:{registry.server_port}")

    assert value_json(framed(3, b"7"), near) == "7"
