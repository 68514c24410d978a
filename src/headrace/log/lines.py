"""Lines of input as events: which part is the key, which the value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from headrace.errors import LogError

LONGEST_LINE = 32 * 2**20


@dataclass(frozen=True)
class LineFormat:
    """How a line is read.

    Args:
        key_field: The field of the JSON object whose value is the key.
        key_separator: What stands between a key and its value on a line.
        raw: Take the value as it is, instead of one JSON object a line.
    """

    key_field: str | None = None
    key_separator: str | None = None
    raw: bool = False


@dataclass(frozen=True)
class Line:
    """A line as an event to write; one without a value takes away its key's."""

    number: int
    key: bytes | None
    value: bytes | None


def parse_lines(lines: Iterable[bytes], form: LineFormat) -> Iterator[Line]:
    r"""Give an event for each line; empty lines are passed over unless raw.

    The value is the line itself, not a copy of what it means: digits and order stay.

    Raises:
        LogError: [line-unreadable] a line is not a JSON object, has no separator, or
            is longer than any event;
            [key-missing] it has no key where one was asked for.

    Example:
        >>> [line] = parse_lines([b'{"card": 7}\n'], LineFormat(key_field="card"))
        >>> line.key, line.value
        (b'7', b'{"card": 7}')
    """
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_LINE:
            raise _unreadable(
                number, "is too long", f"it has over {LONGEST_LINE} bytes."
            )
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        if form.raw:
            key, value = _split(text, form, number)
            yield Line(number, key, value)
        elif text.strip():
            key, value = _split(text.strip(), form, number)
            found = _object(value, number)
            if form.key_field is not None:
                key = _key(found, form.key_field, number)
            yield Line(number, key, value)


def _split(text: bytes, form: LineFormat, number: int) -> tuple[bytes | None, bytes]:
    if form.key_separator is None:
        return None, text
    key, separator, value = text.partition(form.key_separator.encode())
    if not separator:
        raise _unreadable(
            number, "has no key", f'there is no "{form.key_separator}" in it.'
        )
    return key, value


def _object(value: bytes, number: int) -> dict[str, Any]:
    try:
        # Numbers stay text: a key is what was written, digit for digit.
        found = json.loads(
            value.decode(), parse_int=str, parse_float=str, parse_constant=_refuse
        )
    except json.JSONDecodeError as error:
        detail = f"{error.msg}, at character {error.pos + 1}."
        raise _unreadable(number, "is not JSON", detail) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(number, "is not JSON", f"{error}.") from error
    if not isinstance(found, dict):
        kind = type(found).__name__
        raise _unreadable(
            number, "is not a JSON object", f"it is JSON, of type {kind}."
        )
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _key(found: dict[str, Any], field: str, number: int) -> bytes:
    key = found.get(field)
    if isinstance(key, bool):
        return b"true" if key else b"false"
    if isinstance(key, str):
        return key.encode(errors="surrogatepass")
    what = "is an object or a list" if key is not None else "has no value"
    if field not in found:
        what = "is not there"
    raise LogError(
        "key-missing",
        f"line {number} of the input has no key",
        detail=f'its field "{field}" {what}.',
        hint="a key is a text, a number or a truth value; without --key events are "
        "spread over the partitions, and have no order among them.",
    )


def _unreadable(number: int, fact: str, detail: str) -> LogError:
    return LogError(
        "line-unreadable",
        f"line {number} of the input {fact}",
        detail=detail,
        hint="one JSON object a line is expected; --raw sends lines as they are.",
    )
