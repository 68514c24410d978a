"""Read what a ``.proto`` text says of its messages: names, numbers, types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[\w.]+|[{}\[\]<>=;,()-]')


@dataclass
class ProtoField:
    """One field of a message."""

    number: int
    type: str
    repeated: bool


@dataclass
class ProtoMessage:
    """One message: its fields by name, the messages inside it, and what is reserved."""

    fields: dict[str, ProtoField] = field(default_factory=dict)
    messages: dict[str, ProtoMessage] = field(default_factory=dict)
    reserved: set[int] = field(default_factory=set)

    @property
    def numbers(self) -> set[int]:
        """Every number that was ever used, as far as the text says."""
        return {known.number for known in self.fields.values()} | self.reserved


def first_message(text: str) -> ProtoMessage | None:
    """Give the first message of a file, the one that events are written as.

    Only what the numbering needs is read; services, enums, options and extensions
    are passed over.

    Example:
        >>> found = first_message('message M { string a = 1; reserved 3, 5 to 6; }')
        >>> found.fields["a"].number, sorted(found.reserved)
        (1, [3, 5, 6])
    """
    whole = _message(_statements(iter(_TOKEN.findall(_COMMENT.sub(" ", text)))))
    return next(iter(whole.messages.values()), None)


# A statement is its words, and the statements between its braces if it has some.
_Statement = tuple[list[str], "list[_Statement] | None"]


def _statements(tokens: Iterator[str]) -> list[_Statement]:
    found: list[_Statement] = []
    words: list[str] = []
    for mark in tokens:
        if mark == "}":
            break
        if mark == "{":
            found.append((words, _statements(tokens)))
            words = []
        elif mark == ";":
            found.append((words, None))
            words = []
        else:
            words.append(mark)
    return found


def _message(statements: list[_Statement]) -> ProtoMessage:
    made = ProtoMessage()
    for words, inside in statements:
        if not words:
            continue
        if inside is not None:
            if words[0] == "message":
                made.messages[words[1]] = _message(inside)
            elif words[0] == "oneof":
                made.fields |= _message(inside).fields
        elif words[0] == "reserved":
            made.reserved |= _reserved(words[1:])
        elif "=" in words and words[0] not in {"option", "syntax", "import", "package"}:
            made.fields |= _field(words)
    return made


def _field(words: list[str]) -> dict[str, ProtoField]:
    at = words.index("=")
    label = words[0] if words[0] in {"optional", "required", "repeated"} else ""
    type_ = "".join(words[1 if label else 0 : at - 1])
    number = int(words[at + 1])
    return {words[at - 1]: ProtoField(number, type_, label == "repeated")}


def _reserved(words: list[str]) -> set[int]:
    numbers: set[int] = set()
    for part in " ".join(words).split(","):
        bounds = [int(n) for n in part.split() if n.isdecimal()]
        if bounds:
            # "to max" has no second number; the first one is enough to go beyond.
            numbers |= set(range(bounds[0], bounds[-1] + 1))
    return numbers
