"""Events are shown as one line of JSON each, whatever bytes they hold."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.log import StoredEvent, event_line, value_json
from headrace.log.showing import key_json, time_text


def event(
    key: bytes | None = None,
    value: bytes | None = None,
    headers: tuple[tuple[str, bytes | None], ...] = (),
) -> StoredEvent:
    return StoredEvent("payments", 3, 42, 1794736800123, key, value, headers)


def test_an_event_is_shown_with_its_place_time_key_value_and_headers() -> None:
    shown = json.loads(event_line(event(b"ann", b'{"n": 1}', (("trace", b"x"),))))

    assert shown == {
        "topic": "payments",
        "partition": 3,
        "offset": 42,
        "timestamp": "2026-11-15T10:00:00.123Z",
        "key": "ann",
        "value": {"n": 1},
        "headers": [{"key": "trace", "value": "x"}],
    }
    assert list(shown) == [
        "topic",
        "partition",
        "offset",
        "timestamp",
        "key",
        "value",
        "headers",
    ]


def test_headers_that_repeat_or_have_no_value_are_all_shown() -> None:
    headers = (("a", b"1"), ("a", None), ("b", b"\xff"))

    shown = json.loads(event_line(event(headers=headers)))["headers"]

    assert shown == [
        {"key": "a", "value": 1},
        {"key": "a", "value": None},
        {"key": "b", "value": {"base64": "/w=="}},
    ]


@pytest.mark.parametrize(
    "written",
    [
        '{"a": 1.10, "a": 12345678901234567890123, "b": 1e400, "c": "\\u00e9"}',
        "[1, 2.50]",
        "true",
        "-0",
        '"text"',
        "9" * 5000,
    ],
)
def test_json_is_shown_as_it_was_written(written: str) -> None:
    assert value_json(written.encode()) == written


def test_json_over_several_lines_is_shown_on_one() -> None:
    written = '{\r\n  "a": "x\\ny"\n}\n'

    assert "\n" not in value_json(written.encode())
    assert json.loads(value_json(written.encode())) == {"a": "x\ny"}


@pytest.mark.parametrize(
    "text", ["hello", "", " ", "nul", '{"a": NaN}', "Infinity", '{"a": "x\ny"}', "ü"]
)
def test_what_is_not_json_is_shown_as_text(text: str) -> None:
    assert json.loads(value_json(text.encode())) == text


def test_json_nested_too_deeply_to_read_is_shown_as_text() -> None:
    text = "[" * 200_000 + "]" * 200_000

    assert json.loads(value_json(text.encode())) == text


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\0b", b"\0\0\0\0\1", b"\xc3"])
def test_what_is_not_text_is_shown_in_base64(data: bytes) -> None:
    shown = json.loads(value_json(data))

    assert base64.b64decode(shown["base64"]) == data


def test_only_a_tombstone_is_shown_as_null() -> None:
    assert value_json(None) == "null"
    assert value_json(b"null") == '"null"'
    assert value_json(b"") == '""'


def test_a_key_is_shown_as_text_even_if_it_is_json() -> None:
    assert [key_json(key) for key in (b"42", b'{"id": 1}', None)] == [
        '"42"',
        '"{\\"id\\": 1}"',
        "null",
    ]


@given(st.binary())
def test_any_value_is_one_line_of_json(data: bytes) -> None:
    line = event_line(event(key=data, value=data))

    assert "\n" not in line
    assert "\r" not in line
    json.loads(line, parse_constant=pytest.fail)


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (None, None),
        (0, "1970-01-01T00:00:00.000Z"),
        (4102444800000, "2100-01-01T00:00:00.000Z"),
        (2**62, 2**62),
    ],
)
def test_a_time_is_shown_in_utc_or_as_it_is_beyond_the_calendar(
    milliseconds: int | None, shown: object
) -> None:
    assert time_text(milliseconds) == shown
