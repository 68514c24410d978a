"""Analyse the texts of aggregates: what they call, on what, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from headrace.errors import StepError
from headrace.schema.expressions import Expression, read_condition, read_expression
from headrace.schema.sql import parse
from headrace.schema.types import Field, FieldType, Record, Unknown
from headrace.windows.calls import Call, calls
from headrace.windows.results import COUNTS, require_fitting, result_type
from headrace.windows.rewriting import DISTINCT, FEWEST_ARGUMENTS, rewritten

_PLACE = "_aggregate_"
# What is put together.
_ROWS = {"window": "events", "group": "rows"}
_NO_AGGREGATES = (exp.AggFunc, exp.Any, exp.Query, exp.RowNumber, exp.Window)


@dataclass(frozen=True)
class Read:
    """A call that was checked.

    Attributes:
        call: The call.
        arguments: Its arguments, without the star of ``count(*)``.
        condition: The condition of its FILTER clause.
        type: The type of its result, as near as it can be told without Spark.
    """

    call: Call
    arguments: tuple[Expression, ...]
    condition: Expression | None
    type: FieldType


def analyse(
    text: str, columns: Record, order: Sequence[str], where: str
) -> tuple[str, FieldType, bool]:
    """Check an aggregate of a window; `read_aggregates` says what for.

    Gives it as Spark evaluates it, its type, and whether it is never null.
    """
    read, type_, required = take_apart(text, columns, "window", where)
    found = [one.call for one in read]
    sql = _replaced(text, found, [rewritten(call, order, text) for call in found])
    return sql, type_, required


def take_apart(
    text: str, columns: Record, of: str, where: str
) -> tuple[list[Read], FieldType, bool]:
    """Check an aggregate of a ``window`` or a ``group``, call by call.

    Gives the calls, the type of what is computed from them, and whether it is never
    null.
    """
    parse(text, where)
    found = calls(text)
    read = [_read(call, columns, (text, of), where) for call in found]
    around = _replaced(text, found, [f"{_PLACE}{n}" for n in range(len(found))])
    _require_aggregates_alone(around, (text, of), where)
    if around.strip() == f"{_PLACE}0":
        return read, read[0].type, found[0].name in COUNTS
    kinds = [one.type for one in read]
    return read, _type_around(around, found, kinds, text, where), False


def _replaced(text: str, found: Sequence[Call], parts: Sequence[str]) -> str:
    for call, part in zip(reversed(found), reversed(parts), strict=True):
        text = f"{text[: call.start]}{part}{text[call.end :]}"
    return text


def _read(call: Call, columns: Record, told: tuple[str, str], where: str) -> Read:
    """Check a call by itself, and give the type of its result."""
    text = told[0]
    _require_plain(call, told, where)
    arguments = [
        read_expression(argument, columns, where)
        for argument in call.arguments
        if argument != "*"
    ]
    # What an ordered set is ordered by is what it tells of.
    ordered = [read_expression(by, columns, where) for by in call.within]
    condition = None
    if call.condition:
        condition = read_condition(call.condition, columns, where)
    if call.name == "top":
        _require_top(call, arguments, told, where)
    require_fitting(call, arguments, text, where)
    type_ = Unknown() if ordered else result_type(call, arguments)
    return Read(call, tuple(arguments), condition, type_)


def _require_plain(call: Call, told: tuple[str, str], where: str) -> None:
    """Refuse what cannot be evaluated event by event, or row by row."""
    text, of = told
    shown = text[call.start : call.end]
    inner = next((inside for part in _parts(call) for inside in calls(part)), None)
    if inner is not None:
        detail = f"`{shown}` holds {inner.name}(), which aggregates itself."
        hint = "compute over the results: sum(a) / count(*)."
    elif call.over:
        detail = f"{call.name}() has an OVER clause, and the {of} is the step itself."
        hint = "leave the OVER clause out."
    elif len(call.arguments) < FEWEST_ARGUMENTS.get(call.name, 0):
        detail = f"{call.name}() lacks an argument."
        hint = f"name what to look at: `{call.name}(x)`."
    elif call.distinct and call.name not in DISTINCT:
        detail = f"{call.name}() cannot take equal values once."
        hint = "collect them: `collect_set(x)` gives each value once."
    else:
        return
    raise _unsupported(told, detail, hint, where)


def _parts(call: Call) -> Sequence[str]:
    return [*call.arguments, *call.within, call.condition]


def _require_top(
    call: Call, arguments: Sequence[Expression], told: tuple[str, str], where: str
) -> None:
    few, many = 2, 3
    number = call.arguments[0] if call.arguments else ""
    if not few <= len(arguments) <= many or not number.isdigit() or int(number) < 1:
        detail = "top() takes how many, a value, and what to rank it by."
        hint = "`top(3, amount)`, `top(3, country, amount)`."
        raise _unsupported(told, detail, hint, where)


def _require_aggregates_alone(around: str, told: tuple[str, str], where: str) -> None:
    """Refuse what is left of a text, if it looks at events itself."""
    text, of = told
    tree = parse(around, where)
    for node in tree.find_all(*_NO_AGGREGATES):
        detail = f"`{node.sql(dialect='spark')}` is no aggregate of one {of}."
        hint = "use Spark's aggregate functions: count, sum, max."
        raise _unsupported(told, detail, hint, where)
    names = [column.parts[0].name for column in tree.find_all(exp.Column)]
    outside = [name for name in names if not name.startswith(_PLACE)]
    if outside or not names:
        detail = f"`{outside[0]}` stands outside of every aggregate." if outside else ""
        raise StepError(
            "not-an-aggregate",
            f"`{text}` is not one value for all {_ROWS[of]} of a {of}",
            detail=detail or "it calls no aggregate function.",
            hint="use one of Spark's: `count(*)`, `sum(x)`, `max(x)`.",
            where=where,
        )


def _type_around(
    around: str,
    found: Sequence[Call],
    kinds: Sequence[FieldType],
    text: str,
    where: str,
) -> FieldType:
    """Give the type of what is computed from aggregates."""
    places = {f"{_PLACE}{n}": text[c.start : c.end] for n, c in enumerate(found)}
    fields = [Field(name, kind) for name, kind in zip(places, kinds, strict=True)]
    try:
        return read_expression(around, Record(tuple(fields)), where).type
    except StepError as error:
        # Tell it in the user's own words.
        for place, shown in places.items():
            error.fact = error.fact.replace(place, shown)
            error.detail = (error.detail or "").replace(place, shown)
        raise


def _unsupported(
    told: tuple[str, str], detail: str, hint: str, where: str
) -> StepError:
    text, of = told
    return StepError(
        "aggregate-unsupported",
        f"`{text}` cannot be told of a {of}",
        detail=detail,
        hint=hint,
        where=where,
    )
