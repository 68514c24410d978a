"""From the rows of a step of several kinds to those of one kind, row by row.

A join's frame holds results and late rows: ``_kind`` tells them apart, ``_left`` and
``_right`` have the columns of its sides. That of a window is told in `plan.panes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sql

from headrace.plan import panes
from headrace.plan.join_steps import Joined, LateRows
from headrace.plan.lookup_steps import MissingRows
from headrace.plan.window_steps import LATE_BY, LateEvents, Panes

if TYPE_CHECKING:
    from pyspark.sql import Column

KIND = panes.KIND
JOINED, LATE_LEFT, LATE_RIGHT, MISSING = 0, 1, 4, 4

Chosen = Panes | LateEvents | Joined | LateRows | MissingRows


def kind_of(step: Chosen) -> int:
    """Give the kind of the rows that a step chooses."""
    match step:
        case Joined():
            return JOINED
        case LateRows():
            return LATE_LEFT if step.is_left else LATE_RIGHT
        case MissingRows():
            return MISSING
    return panes.kind_of(step)


def chosen_columns(step: Chosen) -> dict[str, str | Column]:
    """Give the columns of the rows that a step chooses: where each is, or its value."""
    match step:
        case Joined():
            return _joined(step)
        case LateRows():
            join = step.input
            side = join.input if step.is_left else join.other
            struct = "_left" if step.is_left else "_right"
            names = side.columns.names
            return {LATE_BY: LATE_BY, **{name: f"{struct}.`{name}`" for name in names}}
        case MissingRows():
            return {name: f"_left.`{name}`" for name in step.columns.names}
    return panes.chosen_columns(step)


def _joined(step: Joined) -> dict[str, str | Column]:
    join = step.input
    left = {name: f"_left.`{name}`" for name in join.input.columns.names}
    found: dict[str, str | Column] = {**left}
    if join.kind in {"semi", "anti"}:
        return found
    for name, called in join.sides.renamed.items():
        place = f"_right.`{name}`"
        if name not in join.sides.merged:
            found[called] = place
        elif join.kind in {"right", "full"}:
            found[name] = sql.coalesce(sql.col(left[name]), sql.col(place))
    return found
