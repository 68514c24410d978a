"""Lines of input become events as they are written, or an error with their number."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import LogError
from headrace.log import LONGEST_LINE, Line, LineFormat, parse_lines

PLAIN = LineFormat()
BY_CARD = LineFormat(key_field="card")


def parsed(text: bytes, form: LineFormat = PLAIN) -> list[Line]:
    return list(parse_lines(io.BytesIO(text), form))


def refusal(text: bytes, form: LineFormat = PLAIN) -> LogError:
    with pytest.raises(LogError) as caught:
        parsed(text, form)
    return caught.value


def test_a_value_is_the_line_as_it_was_written() -> None:
    line = b'{ "b":1.10, "a": 12345678901234567890.0, "b": "\\u00e9"}'

    assert parsed(line + b"\r\n") == [Line(1, None, line)]


def test_a_last_line_needs_no_line_break() -> None:
    assert [line.value for line in parsed(b'{"a":1}\n{"a":2}')] == [
        b'{"a":1}',
        b'{"a":2}',
    ]


def test_empty_lines_are_passed_over_and_still_counted() -> None:
    assert [line.number for line in parsed(b'\n{"a":1}\n  \n{"a":2}\n\n')] == [2, 4]


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ('"ann"', b"ann"),
        ('"\\u00fc"', "ü".encode()),
        ('""', b""),
        ("7", b"7"),
        ("-1.50", b"-1.50"),
        ("12345678901234567890123", b"12345678901234567890123"),
        ("true", b"true"),
        ("false", b"false"),
    ],
)
def test_a_key_is_a_fields_value_digit_for_digit(written: str, key: bytes) -> None:
    [line] = parsed(f'{{"card": {written}}}'.encode(), BY_CARD)

    assert line.key == key


@pytest.mark.parametrize("card", ["null", "[1]", '{"a": 1}'])
def test_a_key_that_is_no_single_value_is_refused(card: str) -> None:
    error = refusal(f'{{"card": "a"}}\n{{"card": {card}}}'.encode(), BY_CARD)

    assert error.slug == "key-missing"
    assert "line 2" in error.fact


def test_a_field_that_is_not_there_gives_no_key() -> None:
    error = refusal(b'{"Card": 1}', BY_CARD)

    assert error.slug == "key-missing"
    assert "not there" in str(error.detail)


@pytest.mark.parametrize(
    "text",
    [
        b"nope",
        b'{"a": 1',
        b'{"a": 1} {"a": 2}',
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": "\xff"}',
        b"\xef\xbb\xbf{}",
        b"[1]",
        b"7",
        b"null",
        b'"text"',
        b"[" * 100_000,
    ],
)
def test_a_line_that_is_no_json_object_is_named_by_its_number(text: bytes) -> None:
    error = refusal(b'{"a": 0}\n\n' + text + b'\n{"a": 2}\n')

    assert error.slug == "line-unreadable"
    assert "line 3 of the input" in error.fact
    assert "--raw" in str(error.hint)


def test_lines_before_one_that_cannot_be_read_are_given_first() -> None:
    lines = parse_lines(io.BytesIO(b'{"a": 0}\nnope\n'), PLAIN)

    assert next(lines).value == b'{"a": 0}'
    with pytest.raises(LogError):
        next(lines)


def test_a_raw_line_is_taken_as_it_is_even_if_empty() -> None:
    found = parsed(b" a \n\n\xff\0\n", LineFormat(raw=True))

    assert [line.value for line in found] == [b" a ", b"", b"\xff\0"]
    assert [line.key for line in found] == [None, None, None]


def test_a_separator_divides_a_line_at_its_first_place() -> None:
    found = parsed(b"k:v:w\n:\n", LineFormat(key_separator=":", raw=True))

    assert [(line.key, line.value) for line in found] == [(b"k", b"v:w"), (b"", b"")]


def test_a_value_behind_a_separator_is_a_json_object_unless_raw() -> None:
    form = LineFormat(key_separator="\t")

    assert parsed(b'k\t{"a": 1}', form) == [Line(1, b"k", b'{"a": 1}')]
    assert refusal(b"k\tv", form).slug == "line-unreadable"


def test_a_line_without_its_separator_is_refused() -> None:
    error = refusal(b"k:v\nkv\n", LineFormat(key_separator=":", raw=True))

    assert error.slug == "line-unreadable"
    assert "line 2" in error.fact


def test_a_line_longer_than_any_event_is_refused() -> None:
    error = refusal(b"x" * (LONGEST_LINE + 1), LineFormat(raw=True))

    assert "too long" in error.fact


@given(st.lists(st.dictionaries(st.text(), st.integers() | st.text())))
def test_every_json_object_that_was_written_is_given(objects: list[object]) -> None:
    text = "".join(json.dumps(found) + "\n" for found in objects).encode()

    assert [json.loads(line.value or b"") for line in parsed(text)] == objects
