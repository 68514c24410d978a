"""What aggregate functions take and give, as near as it can be told without Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.errors import StepError
from headrace.schema.expressions import Expression
from headrace.schema.types import (
    Exact,
    FieldType,
    ListOf,
    Real,
    Text,
    Truth,
    Unknown,
    Whole,
)
from headrace.windows.calls import Call

COUNTS = frozenset({"approx_count_distinct", "count", "count_if", "regr_count"})
"""The functions that have a value even for no events."""

_PAIRS = frozenset({"corr", "covar_pop", "covar_samp"})
_SPREADS = frozenset(
    {
        *("kurtosis", "skewness", "std", "stddev", "stddev_pop", "stddev_samp"),
        *("var_pop", "var_samp", "variance"),
    }
)
_SUMS = frozenset({"sum", "try_sum"})
_MEANS = frozenset({"avg", "mean", "try_avg"})
_QUANTILES = frozenset({"median", "percentile"})
_APPROXIMATE = frozenset({"approx_percentile", "percentile_approx"})
_TRUTHS = frozenset({"any", "bool_and", "bool_or", "every", "some"})
_LISTS = frozenset({"array_agg", "collect_list", "collect_set"})
_RANKED = frozenset({"max_by", "min_by"})
_SAME = frozenset(
    {
        *("any_value", "bit_and", "bit_or", "bit_xor", "first", "first_value"),
        *("last", "last_value", "max", "min", "mode"),
    }
)
_NUMBERS = _PAIRS | _SPREADS | _SUMS | _MEANS | _QUANTILES


def require_fitting(
    call: Call, arguments: Sequence[Expression], text: str, where: str
) -> None:
    """Refuse a value that a function cannot take.

    Raises:
        StepError: [types-differ] a sum of texts, a count of what is no condition.
    """
    looked_at = arguments if call.name in _PAIRS else arguments[:1]
    for argument in looked_at:
        kind = argument.type
        if call.name in _NUMBERS and not isinstance(
            kind, Whole | Real | Exact | Unknown
        ):
            fact, hint = "computes with", "`cast(x as double)`"
        elif call.name in _TRUTHS | {"count_if"} and not isinstance(
            kind, Truth | Unknown
        ):
            fact, hint = "takes for a condition", "`x is not null`, `x > 0`"
        else:
            continue
        raise StepError(
            "types-differ",
            f"{call.name} {fact} `{argument.text}` of type {kind.sql}",
            detail=f"in `{text}`.",
            hint=f"give it what it can take: {hint}.",
            where=where,
        )


def result_type(call: Call, arguments: Sequence[Expression]) -> FieldType:
    """Give the type of a call's result; `Unknown` where only Spark can tell it."""
    rule = _RULES.get(call.name)
    return Unknown() if rule is None or not call.arguments else rule(call, arguments)


def _same(_call: Call, arguments: Sequence[Expression]) -> FieldType:
    return arguments[0].type


def _sum(_call: Call, arguments: Sequence[Expression]) -> FieldType:
    """Spark gives sums of decimals ten more digits."""
    kind = arguments[0].type
    match kind:
        case Whole() | Real():
            return kind
        case Exact(precision, scale):
            return Exact(min(38, precision + 10), scale)
    return Unknown()


def _mean(_call: Call, arguments: Sequence[Expression]) -> FieldType:
    """Spark gives means of decimals four more digits behind the point."""
    match arguments[0].type:
        case Whole() | Real():
            return Real()
        case Exact(precision, scale):
            return Exact(min(38, precision + 4), min(38, scale + 4))
    return Unknown()


def _quantile(call: Call, arguments: Sequence[Expression]) -> FieldType:
    kind = arguments[0].type
    several = len(call.arguments) > 1 and not call.arguments[1][:1].isdigit()
    if several or not isinstance(kind, Whole | Real | Exact):
        return Unknown()
    return kind if call.name in _APPROXIMATE else Real()


def _list(call: Call, arguments: Sequence[Expression]) -> FieldType:
    """Give the type of a list, unless its numbers may have fewer bits than told."""
    element = arguments[1] if call.name == "top" else arguments[0]
    is_column = element.columns_at == (0,) and element.text.strip("`").isidentifier()
    if isinstance(element.type, Unknown) or (
        isinstance(element.type, Whole | Real) and not is_column
    ):
        return Unknown()
    return ListOf(element.type, required=call.nulls != "respect")


def _ranked(call: Call, arguments: Sequence[Expression]) -> FieldType:
    alone = len(arguments) <= len(("value", "by"))
    return arguments[0].type if alone else _list(call, arguments)


def _joined(_call: Call, arguments: Sequence[Expression]) -> FieldType:
    return Text() if isinstance(arguments[0].type, Text) else Unknown()


_Rule = Callable[[Call, Sequence[Expression]], FieldType]

_RULES: dict[str, _Rule] = {
    **dict.fromkeys(COUNTS, lambda _call, _arguments: Whole()),
    **dict.fromkeys(_PAIRS | _SPREADS, lambda _call, _arguments: Real()),
    **dict.fromkeys(_TRUTHS, lambda _call, _arguments: Truth()),
    **dict.fromkeys(_SUMS, _sum),
    **dict.fromkeys(_MEANS, _mean),
    **dict.fromkeys(_QUANTILES | _APPROXIMATE, _quantile),
    **dict.fromkeys(_LISTS | {"top"}, _list),
    **dict.fromkeys(_RANKED, _ranked),
    **dict.fromkeys(_SAME, _same),
    **dict.fromkeys({"listagg", "string_agg"}, _joined),
}
