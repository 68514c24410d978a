"""The aggregates that model and engine are compared by.

Each is a function over a window's events in their order, beside the Spark SQL that
means the same, in the form that a declaration hands to the operator: first, last and
collect do not depend on the order in which events arrive.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from support.models.window_model_terms import Event

Events = Sequence[Event]

_PLACE = "_origin.partition, _origin.offset, _origin.topic"
_ORDER = f"struct(at, {_PLACE})"


class Aggregate(NamedTuple):
    sql: str
    of: Callable[[Events], Any]


def amounts(events: Events) -> list[int]:
    return [event.amount for event in events if event.amount is not None]


def _sum(events: Events) -> int | None:
    found = amounts(events)
    return sum(found) if found else None


def _average(events: Events) -> float | None:
    found = amounts(events)
    return sum(found) / len(found) if found else None


def _deviation(events: Events) -> float | None:
    found = amounts(events)
    return statistics.stdev(found) if len(found) > 1 else None


def _words_of_largest(events: Events) -> list[str | None]:
    # Of equal amounts the earlier event comes first, as sorting keeps their order.
    known = [event for event in events if event.amount is not None]
    largest = sorted(known, key=lambda event: -(event.amount or 0))
    return [event.word for event in largest[:2]]


AGGREGATES = {
    "count": Aggregate("count(*)", len),
    "sum": Aggregate("sum(amount)", _sum),
    "min": Aggregate("min(amount)", lambda e: min(amounts(e), default=None)),
    "max": Aggregate("max(amount)", lambda e: max(amounts(e), default=None)),
    "avg": Aggregate("avg(amount)", _average),
    "first": Aggregate(
        f"min_by(amount, {_ORDER})", lambda e: e[0].amount if e else None
    ),
    "last": Aggregate(f"max_by(word, {_ORDER})", lambda e: e[-1].word if e else None),
    "distinct": Aggregate(
        "size(collect_set(word))",
        lambda e: len({event.word for event in e} - {None}),
    ),
    "collect": Aggregate(
        f"transform(array_sort(collect_list(struct(at, {_PLACE}, amount))"
        " FILTER (WHERE amount IS NOT NULL)), x -> x.amount)",
        amounts,
    ),
    "top": Aggregate(
        "slice(sort_array(collect_list(amount), false), 1, 3)",
        lambda e: sorted(amounts(e), reverse=True)[:3],
    ),
    "top_by": Aggregate(
        f"transform(slice(array_sort(collect_list(struct(-amount, at, {_PLACE}, word))"
        " FILTER (WHERE amount IS NOT NULL)), 1, 2), x -> x.word)",
        _words_of_largest,
    ),
    "stddev": Aggregate("stddev(amount)", _deviation),
    "kept": Aggregate(
        "count(*) FILTER (WHERE amount > 3) * 10 + 1",
        lambda e: sum(amount > 3 for amount in amounts(e)) * 10 + 1,
    ),
}


def _sum_over_four(events: Events) -> bool | None:
    total = _sum(events)
    return None if total is None else total > 4


HAVINGS = {
    "several": Aggregate("count(*) > 1", lambda e: len(e) > 1),
    # True, then false, then true again as events come; null without amounts.
    "odd": Aggregate("count(*) % 2 = 1", lambda e: len(e) % 2 == 1),
    "sum_over_four": Aggregate("sum(amount) > 4", _sum_over_four),
}
