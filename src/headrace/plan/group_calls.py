"""From calls of aggregates to totals that rows are added to and taken back from."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.errors import StepError
from headrace.plan.group_totals import Total, unordered
from headrace.schema.expressions import Expression
from headrace.schema.types import FieldType, ListOf, Record, Truth, Unknown
from headrace.windows.analysis import Read, take_apart
from headrace.windows.calls import Call, calls

_ANY, _ALL = ("bool_or", "some", "any"), ("bool_and", "every")
_SAME = {"avg": "avg", "mean": "avg", "sum": "sum", "min": "min", "max": "max"}
_REVERSIBLE = ("count", "count_if", *_SAME, *_ALL, *_ANY)
_TAKES_DISTINCT = {"count", "min", "max", *_ALL, *_ANY}


@dataclass
class Totals:
    """The totals of a group, each once."""

    found: list[Total] = field(default_factory=list)

    def column(self, function: str, of: Expression | None) -> Expression:
        """Give the column that holds a total."""
        wanted = Total(function, of)
        if wanted not in self.found:
            self.found.append(wanted)
        return Expression(f"`_{self.found.index(wanted)}`", Unknown(), (0,))


def told_from(
    text: str, row: Record, totals: Totals, where: str
) -> tuple[Expression, bool]:
    """Check an aggregate, and give it as an expression of totals.

    Gives also whether it is never null. `read_grouped` has the errors.
    """
    for call in calls(text):
        _require_reversible(call, text, where)
    read, kind, required = take_apart(text, row, "group", where)
    parts: list[str | Expression] = []
    done = 0
    for one in read:
        call = one.call
        if call.name != "count" and len(call.arguments) != 1:
            detail = f"{call.name}() takes one value."
            raise _unsupported(text, detail, f"`{call.name}(x)`.", where)
        parts += [text[done : call.start], _result(one, totals, where)]
        done = call.end
    return _sql(kind, *parts, text[done:]), required


def _result(read: Read, totals: Totals, where: str) -> Expression:
    """Give a call's result as an expression of totals."""
    name, condition = read.call.name, read.condition
    if name == "count":
        return _count(read, totals, where)
    (value,) = read.arguments
    if name == "count_if":
        return totals.column("count", _if_true(value, condition))
    if name in _SAME:
        if name in {"min", "max"}:
            _require_ordered(name, value, where)
        return totals.column(_SAME[name], _if_kept(value, condition))
    known = totals.column("count", _if_kept(value, condition))
    told = _sql(Truth(), "NOT (", value, ")") if name in _ALL else value
    such = totals.column("count", _if_true(told, condition))
    decided = " = 0" if name in _ALL else " > 0"
    return _sql(read.type, "CASE WHEN ", known, " > 0 THEN ", such, decided, " END")


def _count(read: Read, totals: Totals, where: str) -> Expression:
    values, condition = read.arguments, read.condition
    if not values:
        if condition is None:
            return totals.column("rows", None)
        return totals.column("count", _if_true(condition, None))
    for value in values if read.call.distinct else ():
        _require_ordered("count(distinct)", value, where)
    counted = values[0]
    if len(values) > 1:
        whole: list[str | Expression] = []
        known: list[str | Expression] = []
        for number, value in enumerate(values):
            whole += [", " if number else "struct(", value]
            known += [" AND (" if number else "(", value, ") IS NOT NULL"]
        counted = _if_kept(_sql(Unknown(), *whole, ")"), _sql(Truth(), *known))
    function = "distinct" if read.call.distinct else "count"
    return totals.column(function, _if_kept(counted, condition))


def _if_kept(value: Expression, condition: Expression | None) -> Expression:
    """Give a value where the condition of a FILTER clause is true, else null."""
    if condition is None:
        return value
    return _sql(value.type, "CASE WHEN ", condition, " THEN ", value, " END")


def _if_true(condition: Expression, also: Expression | None) -> Expression:
    """Give something where a condition is true, else null."""
    true = _sql(Truth(), "CASE WHEN ", condition, " THEN true END")
    return _if_kept(true, also)


def _sql(kind: FieldType, *parts: str | Expression) -> Expression:
    text, columns_at = "", []
    for part in parts:
        if isinstance(part, Expression):
            columns_at += [len(text) + place for place in part.columns_at]
            # The line break ends a comment.
            text += part.text + ("\n" if "--" in part.text else "")
        else:
            text += part
    return Expression(text, kind, tuple(columns_at))


def _require_reversible(call: Call, text: str, where: str) -> None:
    """Refuse what no row can be taken back from."""
    if call.name not in _REVERSIBLE:
        raise StepError(
            "aggregate-not-reversible",
            f"no row can be taken back from `{text[call.start : call.end]}`",
            detail="rows of a table change and are deleted; then a group has to tell "
            "what it would tell without them.",
            hint=f"there are {', '.join(_REVERSIBLE)} and count(distinct x); all "
            "others are told of a stream, by a window.",
            where=where,
        )
    if call.distinct and call.name not in _TAKES_DISTINCT:
        detail = f"{call.name}() cannot take equal values once."
        raise _unsupported(text, detail, "leave `distinct` out.", where)


def _require_ordered(name: str, value: Expression, where: str) -> None:
    if isinstance(value.type, ListOf | Record):
        raise unordered(f"{name} of `{value.text}`", value.type.sql, where)


def _unsupported(text: str, detail: str, hint: str, where: str) -> StepError:
    return StepError(
        "aggregate-unsupported",
        f"`{text}` cannot be told of a group",
        detail=detail,
        hint=hint,
        where=where,
    )
