"""What a table's verbs do to its changes, as expressions over both of their rows.

A change has the row before it and the row after it, each null where there is none.
A verb is applied to both: so a row that a condition no longer keeps becomes a
deletion, and one that it never kept was never there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from headrace.errors import StepError
from headrace.plan.changes import DELETED, TableRows
from headrace.plan.steps import Select, Step, Where
from headrace.schema.expressions import Expression, column
from headrace.schema.types import Field, Real, Record, Text, Truth, Whole

_ROWS = ("before", "after")

_UNSTEADY = re.compile(
    r"\b((rand|randn|random|randstr|uniform|uuid|shuffle|now|curdate"
    r"|monotonically_increasing_id|spark_partition_id)\s*\("
    r"|(current_timestamp|current_date|current_time|localtimestamp)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Fixed:
    """What stays the same of a row as long as it is there.

    Args:
        columns: Each with the parts of the key that it is computed from.
        parts: All parts of the key; who knows fewer cannot tell the rows apart.
    """

    columns: Mapping[str, frozenset[str]]
    parts: frozenset[str]

    @classmethod
    def of(cls, key: Sequence[str]) -> Fixed:
        """Give the columns of a key."""
        return cls({name: frozenset([name]) for name in key}, frozenset(key))

    def parts_of(self, columns: Iterable[str]) -> frozenset[str]:
        """Give the parts of the key that columns come from together."""
        return frozenset().union(*(self.columns[name] for name in columns))

    def tells_apart(self, column: str) -> bool:
        """Tell whether a column comes from the whole key."""
        return self.columns.get(column) == self.parts


@dataclass
class _Sql:
    """An expression that is put together, and where its columns are named."""

    text: str = ""
    columns_at: list[int] = field(default_factory=list)

    def plain(self, text: str) -> _Sql:
        self.text += text
        return self

    def column(self, name: str) -> _Sql:
        self.columns_at.append(len(self.text))
        return self.plain(f"`{name}`")

    def inside(self, expression: Expression, struct: str) -> _Sql:
        """Add an expression, with its columns taken from a struct."""
        done = 0
        for position in sorted(expression.columns_at):
            self.plain(expression.text[done:position]).column(struct).plain(".")
            done = position
        return self.plain(expression.text[done:])

    def typed(self, type_: Record | Text | Truth | Whole) -> Expression:
        return Expression(self.text, type_, tuple(self.columns_at))


def kept_where(before: Step, condition: Expression, where: str) -> Step:
    """Give the step that takes away the rows for which a condition is not true."""
    rows = {
        name: _Sql()
        .plain("CASE WHEN ")
        .inside(condition, name)
        .plain(" THEN ")
        .column(name)
        .plain(" END")
        .typed(_row(before))
        for name in _ROWS
    }
    cut = _changed(before, rows, _row(before), where)
    there = _Sql().column("before").plain(" IS NOT NULL OR ").column("after")
    some = there.plain(" IS NOT NULL").typed(Truth())
    return Where(cut.columns, None, cut.time, where, cut, some)


def computed(
    before: Step, expressions: Mapping[str, Expression], row: Record, where: str
) -> Step:
    """Give the step that computes other columns of the rows."""
    rows = {name: _built(name, expressions, row) for name in _ROWS}
    return _changed(before, rows, row, where)


def changes_of(before: Step, where: str) -> Step:
    """Give the step whose events are the changes themselves."""
    told = _Sql().plain("CASE WHEN ").column("before")
    told.plain(" IS NULL THEN 'insert' WHEN ").column("after")
    told.plain(" IS NULL THEN 'delete' ELSE 'update' END")
    expressions = {"op": told.typed(Text())} | _passed(before, before.columns.names)
    columns = Record((Field("op", Text()), *before.columns))
    return Select(columns, None, before.time, where, before, expressions)


def rows_of(before: Step, keys: Sequence[str], where: str) -> TableRows:
    """Give the step whose rows are those of the table, each under its columns."""
    key = keys[0] if len(keys) == 1 else None
    several = tuple(keys) if len(keys) > 1 else ()
    row = _row(before)
    expressions = {name: _either(name, row) for name in row.names}
    gone = _Sql().column("after").plain(" IS NULL").typed(Truth())
    expressions[DELETED] = gone
    return TableRows(row, key, None, where, before, expressions, several)


def require_steady(expression: Expression, where: str) -> None:
    """Refuse an expression that can give another value for the same row.

    What a table holds is known by what the row before a change had given.

    Raises:
        StepError: [expression-not-steady] it calls such a function.
    """
    found = _UNSTEADY.search(expression.text)
    if found:
        raise StepError(
            "expression-not-steady",
            f"`{expression.text}` gives another value each time",
            detail=f"`{found[0].strip(' (')}` does; a row is taken away by what it "
            "had given before.",
            hint="take such values from the table's own columns, or use them behind "
            "changes(), on a stream.",
            where=where,
        )


def _row(step: Step) -> Record:
    return cast("Record", step.columns["after"].type)


def _either(name: str, row: Record) -> Expression:
    """Give a column of the row after a change, or of that before a deletion."""
    found = column(name, row[name].type)
    sql = _Sql().plain("CASE WHEN ").column("after").plain(" IS NULL THEN ")
    sql.inside(found, "before").plain(" ELSE ").inside(found, "after").plain(" END")
    return Expression(sql.text, row[name].type, tuple(sql.columns_at))


def _built(
    struct: str, expressions: Mapping[str, Expression], row: Record
) -> Expression:
    sql = _Sql().plain("CASE WHEN ").column(struct)
    sql.plain(" IS NOT NULL THEN named_struct(")
    for place, (name, expression) in enumerate(expressions.items()):
        sql.plain(", " if place else "").plain(f"'{name}', ")
        # Many of Spark's functions give numbers of 32 bits.
        wide = isinstance(expression.type, Whole | Real)
        sql.plain("CAST(" if wide else "").inside(expression, struct)
        sql.plain(f" AS {expression.type.sql})" if wide else "")
    return sql.plain(") END").typed(row)


def _changed(
    before: Step, rows: Mapping[str, Expression], row: Record, where: str
) -> Select:
    others = [name for name in before.columns.names if name not in _ROWS]
    columns = Record(
        (
            *(Field(name, row, required=False) for name in _ROWS),
            *(before.columns[name] for name in others),
        )
    )
    expressions = {**rows, **_passed(before, others)}
    return Select(columns, None, before.time, where, before, expressions)


def _passed(before: Step, names: list[str]) -> dict[str, Expression]:
    return {name: column(name, before.columns[name].type) for name in names}
