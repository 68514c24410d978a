"""Groups of a table in plain Python: all rows are looked at anew, and sums are exact.

It keeps nothing between batches, so nothing can be left behind in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

Row = Mapping[str, Any]
Rows = dict[tuple[Any, ...], dict[str, Any]]
Aggregate = Callable[[list[Row]], Any]

_MEAN_SCALE = 22


def grouped(
    rows: Iterable[Row], by: Sequence[str], aggregates: Mapping[str, Aggregate]
) -> Rows:
    """Give the row of each group, by its key; null is a key like any other."""
    members: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        members.setdefault(tuple(row[name] for name in by), []).append(row)
    return {
        key: {
            **dict(zip(by, key, strict=True)),
            **{name: tell(found) for name, tell in aggregates.items()},
        }
        for key, found in members.items()
    }


def rows(found: list[Row]) -> int:
    return len(found)


def count(of: str) -> Aggregate:
    return lambda found: len(_values(found, of))


def count_if(condition: Callable[[Row], bool | None]) -> Aggregate:
    return lambda found: sum(condition(row) is True for row in found)


def total(of: str, where: Callable[[Row], bool | None] | None = None) -> Aggregate:
    def tell(found: list[Row]) -> Any:
        kept = [row for row in found if where is None or where(row) is True]
        values = _values(kept, of)
        return _like(_sum(values), values[0]) if values else None

    return tell


def mean(of: str) -> Aggregate:
    def tell(found: list[Row]) -> Any:
        values = _values(found, of)
        if not values:
            return None
        if isinstance(values[0], Decimal):
            return _decimal(Fraction(_sum(values)) / len(values), _MEAN_SCALE)
        return float(_sum(values)) / len(values)

    return tell


def least(of: str) -> Aggregate:
    return lambda found: min(_values(found, of), key=_place, default=None)


def most(of: str) -> Aggregate:
    return lambda found: max(_values(found, of), key=_place, default=None)


def distinct(*of: str) -> Aggregate:
    def tell(found: list[Row]) -> int:
        known = (tuple(row[name] for name in of) for row in found)
        return len({values for values in known if None not in values})

    return tell


def every(condition: Callable[[Row], bool | None]) -> Aggregate:
    return _decided(condition, all)


def some(condition: Callable[[Row], bool | None]) -> Aggregate:
    return _decided(condition, any)


def _decided(
    condition: Callable[[Row], bool | None], decide: Callable[[list[bool]], bool]
) -> Aggregate:
    def tell(found: list[Row]) -> bool | None:
        known = [is_so for row in found if (is_so := condition(row)) is not None]
        return decide(known) if known else None

    return tell


def _values(found: list[Row], of: str) -> list[Any]:
    return [row[of] for row in found if row[of] is not None]


def _sum(values: list[Any]) -> Fraction | float:
    """Add numbers without rounding, as far as they are numbers."""
    infinite = {v for v in values if isinstance(v, float) and math.isinf(v)}
    if any(isinstance(v, float) and math.isnan(v) for v in values):
        return math.nan
    if infinite:
        return infinite.pop() if len(infinite) == 1 else math.nan
    return sum((Fraction(value) for value in values), Fraction(0))


def _like(found: Fraction | float, value: Any) -> Any:
    if isinstance(value, Decimal):
        return _decimal(Fraction(found), 18)
    return type(value)(found)


def _decimal(found: Fraction, scale: int) -> Decimal:
    with localcontext() as context:
        context.prec = 80
        exact = Decimal(found.numerator) / Decimal(found.denominator)
        return exact.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)


def _place(value: Any) -> Any:
    """Give what orders a value: Spark puts NaN above all numbers."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value
