"""From the rows of a window to its panes and its late events, row by row.

A window's frame holds both: ``_kind`` tells them apart, ``_pane`` has the columns of
a pane, ``_event`` those of a late event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sql

from headrace.plan.window_steps import LATE_BY, LateEvents, Panes, Window
from headrace.schema.formats import TO_JSON_OPTIONS

if TYPE_CHECKING:
    from pyspark.sql import Column

PANE, LATE, DEAD = 0, 1, 2
KIND = "_kind"


def kind_of(step: Panes | LateEvents) -> int:
    """Give the kind of the rows that a step chooses."""
    return PANE if isinstance(step, Panes) else LATE


def chosen_columns(step: Panes | LateEvents) -> dict[str, str | Column]:
    """Give the columns of a pane, or of a late event: where each is, or its value."""
    if isinstance(step, LateEvents):
        names = step.input.input.columns.names
        return {LATE_BY: LATE_BY, **{name: f"_event.`{name}`" for name in names}}
    window = step.input
    held = [name for name in window.columns.names if name != "window_id"]
    return {name: f"_pane.`{name}`" for name in held} | {
        "window_id": _window_id(window)
    }


def _window_id(window: Window) -> Column:
    """Name the step, the key and the place of a window, the same at each firing."""
    key = sql.lit("{}")
    if window.by:
        names = [sql.col(f"_pane.`{name}`").alias(name) for name in window.by]
        key = sql.to_json(sql.struct(*names), TO_JSON_OPTIONS)
    return sql.concat_ws(":", sql.lit(window.name), key, sql.col("_pane._place"))
