"""Rewrite aggregate calls so that no result depends on the order of arrival.

Events that arrive in another order, or in other batches, are the same events: the
first one is the first by event time, then by partition, offset and topic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.windows.calls import Call

_VALUE = "_value"


def rewritten(call: Call, order: Sequence[str], text: str) -> str:
    """Give the text of a call as Spark evaluates it.

    Args:
        call: The call.
        order: What puts events in order, the most important first.
        text: The text that the call stands in.

    Example:
        >>> from headrace.windows.calls import calls
        >>> text = "first(x)"
        >>> rewritten(calls(text)[0], ["at"], text)
        'min_by(x, struct(at))'
    """
    rewrite = _REWRITES.get(call.name)
    return text[call.start : call.end] if rewrite is None else rewrite(call, order)


def _earliest(call: Call, order: Sequence[str]) -> str:
    return f"min_by({call.arguments[0]}, {_when(call, order)}){call.filter}"


def _latest(call: Call, order: Sequence[str]) -> str:
    return f"max_by({call.arguments[0]}, {_when(call, order)}){call.filter}"


def _when(call: Call, order: Sequence[str]) -> str:
    """Give what orders a call's events; what it passes over has no place."""
    place = f"struct({', '.join(order)})"
    ignores = call.nulls == "ignore" or call.arguments[1:2] == ("true",)
    return _unless_null(call.arguments[:1], place) if ignores else place


def _unless_null(values: Sequence[str], given: str) -> str:
    missing = " or ".join(f"({value}) is null" for value in values)
    return f"if({missing}, null, {given})"


def _count(call: Call, _order: Sequence[str]) -> str:
    if not call.distinct:
        return f"count({', '.join(call.arguments)}){call.filter}"
    values = call.arguments
    together = f"struct({', '.join(values)})"
    value = values[0] if len(values) == 1 else _unless_null(values, together)
    # Spark counts distinct values in a plan of its own, which no operator can run.
    return f"cast(size(collect_set({value}){call.filter}) as bigint)"


def _list(call: Call, order: Sequence[str]) -> str:
    if call.distinct:
        return _set(call, order)
    value = call.arguments[0]
    event = f"struct({', '.join(order)}, {value} as {_VALUE})"
    if call.nulls != "respect":
        event = _unless_null([value], event)
    sorted_ = f"array_sort(collect_list({event}){call.filter})"
    return f"transform({sorted_}, _event -> _event.{_VALUE})"


def _set(call: Call, _order: Sequence[str]) -> str:
    return f"array_sort(collect_set({call.arguments[0]}){call.filter})"


def _joined(call: Call, order: Sequence[str]) -> str:
    if call.within:
        between = ", ".join(call.arguments)
        return f"{call.name}({between}){call.ordered}{call.filter}"
    value, *rest = call.arguments
    between = rest[0] if rest else "''"
    joined = f"array_join({_list(call, order)}, {between})"
    return f"if(count({value}){call.filter} = 0, null, {joined})"


def _mode(call: Call, _order: Sequence[str]) -> str:
    if call.within or not call.arguments:
        return f"mode(){call.ordered}{call.filter}"
    # Of values that are equally frequent, the smallest.
    return f"mode({call.arguments[0]}, true){call.filter}"


def _most(call: Call, order: Sequence[str]) -> str:
    value, by, *number = call.arguments
    ranked = _unless_null([by], f"struct({', '.join([by, *order])})")
    return f"{call.name}({', '.join([value, ranked, *number])}){call.filter}"


def _top(call: Call, order: Sequence[str]) -> str:
    number, value, *by = call.arguments
    ranked = _unless_null(by, f"struct({', '.join([*by, *order])})") if by else value
    largest = f"max_by({value}, {ranked}, {number}){call.filter}"
    return f"coalesce({largest}, array())"


def _extreme(call: Call, _order: Sequence[str]) -> str:
    return f"{call.name}({', '.join(call.arguments)}){call.filter}"


_REWRITES: dict[str, Callable[[Call, Sequence[str]], str]] = {
    "any_value": _earliest,
    "array_agg": _list,
    "collect_list": _list,
    "collect_set": _set,
    "count": _count,
    "first": _earliest,
    "first_value": _earliest,
    "last": _latest,
    "last_value": _latest,
    "listagg": _joined,
    "max": _extreme,
    "max_by": _most,
    "min": _extreme,
    "min_by": _most,
    "mode": _mode,
    "string_agg": _joined,
    "top": _top,
}

FEWEST_ARGUMENTS = dict.fromkeys(_REWRITES, 1) | {
    "max_by": 2,
    "min_by": 2,
    "mode": 0,
    "top": 2,
}
"""How many arguments a function that is rewritten needs."""

DISTINCT = frozenset(
    {"array_agg", "collect_list", "collect_set", "count", "max", "min"}
)
"""The functions that can take equal values once."""
