"""Aggregates: what a window tells of its events, as steps carry it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace.errors import StepError
from headrace.schema.expressions import read_condition
from headrace.schema.types import Field, FieldType, Record

_NAME = re.compile(r"`[^`]*`|\w+")


@dataclass(frozen=True)
class Aggregate:
    """A checked aggregate.

    Attributes:
        name: The column that holds it.
        text: The expression as it was written.
        sql: The expression as Spark evaluates it: no result depends on the order
            in which events arrive.
        type: The type of its values, as near as it can be told without Spark.
        required: Whether it has a value even for no events.
    """

    name: str
    text: str
    sql: str
    type: FieldType
    required: bool

    @property
    def field(self) -> Field:
        """The column that it makes."""
        return Field(self.name, self.type, self.required)


def read_aggregates(
    texts: Mapping[str, str], columns: Record, time: str | None, where: str
) -> tuple[Aggregate, ...]:
    """Check what a window shall tell of its events.

    Args:
        texts: An expression for each new column, in order.
        columns: The columns of an event.
        time: The one of the event time, which puts events in order.
        where: The place of the declaration.

    Raises:
        StepError: [aggregates-missing] there are none;
            [not-an-aggregate] one is a value of a single event;
            [aggregate-unsupported] one nests, ranks, queries or asks for what no
            window can hold;
            [expression-unreadable], [column-unknown], [types-differ],
            [expression-not-per-event] as for the expressions of an event.
    """
    if not texts:
        raise StepError(
            "aggregates-missing",
            "a window without aggregates tells nothing",
            hint='name at least one column: payments="count(*)".',
            where=where,
        )
    # The parser takes longer to load than all the rest of headrace.
    from headrace.windows.analysis import analyse  # noqa: PLC0415

    order = ["_origin.partition", "_origin.offset", "_origin.topic"]
    if time is not None:
        order.insert(0, f"`{time}`")
    found = []
    for name, text in texts.items():
        sql, kind, required = analyse(_text(name, text, where), columns, order, where)
        found.append(Aggregate(name, text, sql, kind, required))
    return tuple(found)


def read_having(text: str, aggregates: Sequence[Aggregate], where: str) -> str:
    """Check a condition over aggregates; give it in terms of events.

    Raises:
        StepError: As `read_condition`: the columns are the names of the aggregates.

    Example:
        >>> from headrace.schema.types import Whole
        >>> n = Aggregate("n", "count(*)", "count(*)", Whole(), True)
        >>> read_having("n > 1", [n], "here").replace(chr(10), "")
        '(count(*)) > 1'
    """
    columns = Record(tuple(aggregate.field for aggregate in aggregates))
    condition = read_condition(text, columns, where)
    by_name = {aggregate.name: aggregate.sql for aggregate in aggregates}
    found = condition.text
    for position in sorted(condition.columns_at, reverse=True):
        named = _NAME.match(found, position)
        assert named is not None  # noqa: S101 - a column begins there
        # The line break ends a comment.
        term = f"({by_name[named[0].strip('`')]}\n)"
        found = f"{found[:position]}{term}{found[named.end() :]}"
    return found


def _text(name: str, text: str, where: str) -> str:
    if isinstance(text, str):
        return text
    raise StepError(
        "expression-unreadable",
        f"{name}={text!r} is not a text, but {type(text).__name__}",
        hint=f'aggregates are texts of Spark\'s SQL: {name}="count(*)".',
        where=where,
    )
