"""Expressions of Spark's SQL, as steps carry them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.errors import StepError
from headrace.schema.types import FieldType, Record, Truth, Unknown

_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'")
_NAME = re.compile(r"`((?:[^`]|``)+)`|(\w+)")
_LONG, _SHOWN = 100, 40


@dataclass(frozen=True)
class Expression:
    """A checked expression: its text and the type of its values.

    The type is as near as it can be told without Spark; `Unknown` where it cannot.
    """

    text: str
    type: FieldType
    columns_at: tuple[int, ...] = ()

    @property
    def shown(self) -> str:
        """The text for a person: a long text inside it is cut.

        Example:
            >>> Expression(f"concat(a, '{'x' * 100}')", Unknown()).shown
            "concat(a, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…')"
        """
        return _QUOTED.sub(lambda found: _cut(found[0]), self.text)

    def inside(self, struct: str) -> str:
        """Give the text with its columns taken from a struct.

        Example:
            >>> Expression("a + b", Unknown(), (0, 4)).inside("s")
            's.a + s.b'
        """
        text = self.text
        for position in sorted(self.columns_at, reverse=True):
            text = f"{text[:position]}{struct}.{text[position:]}"
        return text

    def placed(self, places: Mapping[str, str]) -> str:
        """Give the text with each column as it is found where the text is evaluated.

        Example:
            >>> Expression("a + `b`", Unknown(), (0, 4)).placed({"a": "x", "b": "s.b"})
            'x + s.b'
        """
        text = self.text
        for position in sorted(self.columns_at, reverse=True):
            found = _NAME.match(text, position)
            if found is None:
                raise AssertionError(text, position)
            name = found[2] or found[1].replace("``", "`")
            text = f"{text[:position]}{places[name]}{text[found.end() :]}"
        return text


def _cut(quoted: str) -> str:
    return quoted if len(quoted) <= _LONG else f"{quoted[:_SHOWN]}…'"


def column(name: str, type_: FieldType) -> Expression:
    """Give the expression of a column as it is, whatever word its name may be."""
    return Expression(f"`{name}`", type_, (0,))


def read_expression(text: str, columns: Record, where: str) -> Expression:
    """Check an expression that is evaluated for each event by itself.

    Raises:
        StepError: [expression-unreadable] it is not SQL;
            [column-unknown] it names something that is not there;
            [expression-not-per-event] it aggregates, ranks, multiplies or queries;
            [types-differ] it compares or computes with what does not go together.
    """
    if not isinstance(text, str):
        raise StepError(
            "expression-unreadable",
            f"{text!r} is not a text, but {type(text).__name__}",
            hint=f'expressions are texts of Spark\'s SQL: "{text}".',
            where=where,
        )
    # The parser takes longer to load than all the rest of headrace.
    from headrace.schema.sql import analyse  # noqa: PLC0415

    return analyse(text, columns, where)


def read_condition(text: str, columns: Record, where: str) -> Expression:
    """Check an expression that is true or false for each event.

    Raises:
        StepError: As `read_expression`; [condition-not-boolean] it is a value.
    """
    found = read_expression(text, columns, where)
    if not isinstance(found.type, Truth | Unknown):
        raise StepError(
            "condition-not-boolean",
            f"`{text}` is a value of type {found.type.sql}, not a condition",
            hint=f"compare it with something: `{text} = ...`.",
            where=where,
        )
    return found


def unknown_column(name: str, columns: Record, text: str, where: str) -> StepError:
    """Name a column that is not there, and the one that was perhaps meant."""
    last = name.rpartition(".")[2]
    close = difflib.get_close_matches(last, columns.names, n=1, cutoff=0.5)
    return StepError(
        "column-unknown",
        f'there is no column "{name}", used in `{text}`',
        detail=f"the columns are {', '.join(columns.names)}.",
        hint=f'did you mean "{close[0]}"?' if close else "name one of these.",
        where=where,
    )
