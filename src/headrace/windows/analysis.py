"""Analyse the texts of aggregates: what they call, on what, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from headrace.errors import StepError
from headrace.schema.expressions import Expression, read_condition, read_expression
from headrace.schema.sql import parse
from headrace.schema.types import Field, FieldType, Record, Unknown
from headrace.windows.calls import Call, calls
from headrace.windows.results import COUNTS, require_fitting, result_type
from headrace.windows.rewriting import DISTINCT, FEWEST_ARGUMENTS, rewritten

_PLACE = "_aggregate_"
_NO_AGGREGATES = (exp.AggFunc, exp.Any, exp.Query, exp.RowNumber, exp.Window)


def analyse(
    text: str, columns: Record, order: Sequence[str], where: str
) -> tuple[str, FieldType, bool]:
    """Check an aggregate; `read_aggregates` says what for.

    Gives it as Spark evaluates it, its type, and whether it is never null.
    """
    parse(text, where)
    found = calls(text)
    kinds = [_call_type(call, columns, text, where) for call in found]
    around = _replaced(text, found, [f"{_PLACE}{n}" for n in range(len(found))])
    _require_aggregates_alone(around, text, where)
    sql = _replaced(text, found, [rewritten(call, order, text) for call in found])
    if around.strip() == f"{_PLACE}0":
        return sql, kinds[0], found[0].name in COUNTS
    return sql, _type_around(around, found, kinds, text, where), False


def _replaced(text: str, found: Sequence[Call], parts: Sequence[str]) -> str:
    for call, part in zip(reversed(found), reversed(parts), strict=True):
        text = f"{text[: call.start]}{part}{text[call.end :]}"
    return text


def _call_type(call: Call, columns: Record, text: str, where: str) -> FieldType:
    """Check a call by itself, and give the type of its result."""
    _require_plain(call, text, where)
    arguments = [
        read_expression(argument, columns, where)
        for argument in call.arguments
        if argument != "*"
    ]
    # What an ordered set is ordered by is what it tells of.
    ordered = [read_expression(by, columns, where) for by in call.within]
    if call.condition:
        read_condition(call.condition, columns, where)
    if call.name == "top":
        _require_top(call, arguments, text, where)
    require_fitting(call, arguments, text, where)
    return Unknown() if ordered else result_type(call, arguments)


def _require_plain(call: Call, text: str, where: str) -> None:
    """Refuse what a window cannot evaluate event by event."""
    shown = text[call.start : call.end]
    inner = next((inside for part in _parts(call) for inside in calls(part)), None)
    if inner is not None:
        detail = f"`{shown}` holds {inner.name}(), which aggregates itself."
        hint = "compute over the results: sum(a) / count(*)."
    elif call.over:
        detail = f"{call.name}() has an OVER clause, and the window is the step itself."
        hint = "leave the OVER clause out."
    elif len(call.arguments) < FEWEST_ARGUMENTS.get(call.name, 0):
        detail = f"{call.name}() lacks an argument."
        hint = f"name what to look at: `{call.name}(x)`."
    elif call.distinct and call.name not in DISTINCT:
        detail = f"{call.name}() cannot take equal values once."
        hint = "collect them: `collect_set(x)` gives each value once."
    else:
        return
    raise _unsupported(text, detail, hint, where)


def _parts(call: Call) -> Sequence[str]:
    return [*call.arguments, *call.within, call.condition]


def _require_top(
    call: Call, arguments: Sequence[Expression], text: str, where: str
) -> None:
    few, many = 2, 3
    number = call.arguments[0] if call.arguments else ""
    if not few <= len(arguments) <= many or not number.isdigit() or int(number) < 1:
        detail = "top() takes how many, a value, and what to rank it by."
        hint = "`top(3, amount)`, `top(3, country, amount)`."
        raise _unsupported(text, detail, hint, where)


def _require_aggregates_alone(around: str, text: str, where: str) -> None:
    """Refuse what is left of a text, if it looks at events itself."""
    tree = parse(around, where)
    for node in tree.find_all(*_NO_AGGREGATES):
        detail = f"`{node.sql(dialect='spark')}` is no aggregate of one window."
        hint = "use Spark's aggregate functions: count, sum, max_by."
        raise _unsupported(text, detail, hint, where)
    names = [column.parts[0].name for column in tree.find_all(exp.Column)]
    outside = [name for name in names if not name.startswith(_PLACE)]
    if outside or not names:
        detail = f"`{outside[0]}` stands outside of every aggregate." if outside else ""
        raise StepError(
            "not-an-aggregate",
            f"`{text}` is not one value for all events of a window",
            detail=detail or "it calls no aggregate function.",
            hint="use one of Spark's: `count(*)`, `sum(x)`, `last(x)`.",
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


def _unsupported(text: str, detail: str, hint: str, where: str) -> StepError:
    return StepError(
        "aggregate-unsupported",
        f"`{text}` cannot be told of a window",
        detail=detail,
        hint=hint,
        where=where,
    )
