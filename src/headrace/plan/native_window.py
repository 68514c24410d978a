"""Windows as Spark itself evaluates them, in the form that our operator gives.

Spark's own operator is chosen where it means what was asked for: windows that fire
once, when they are complete, and drop what comes later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sql

from headrace.plan.panes import DEAD, KIND, PANE
from headrace.windows.kinds import Hopping, Tumbling
from headrace.windows.lengths import microseconds

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from headrace.plan.window_steps import Window

_ISO = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"
_PLACED = "_window"


def native_window(before: DataFrame, step: Window) -> DataFrame:
    """Give the panes of a window, and the dead letters beside them.

    A dead letter has no time, and no group of an aggregation could pass it on in the
    batch that it came with. So the dead letters are read apart.

    Args:
        before: Events that drive Spark's watermark, with dead letters among them.
        step: Tumbling or hopping windows.
    """
    panes = _panes(before, step)
    pane = panes.schema["_pane"].dataType
    event = before.select(_event(step)).schema["_event"].dataType
    carried = before.select("_origin", "_dead", "_read").schema
    living = panes.select(
        sql.lit(PANE).alias(KIND),
        "_pane",
        sql.lit(None).cast(event).alias("_event"),
        sql.lit(None).cast("bigint").alias("late_by_ms"),
        *_nothing(carried),
    )
    dead = before.where("_dead is not null").select(
        sql.lit(DEAD).alias(KIND),
        sql.lit(None).cast(pane).alias("_pane"),
        sql.lit(None).cast(event).alias("_event"),
        sql.lit(None).cast("bigint").alias("late_by_ms"),
        *carried.names,
    )
    return living.unionByName(dead)


def _panes(before: DataFrame, step: Window) -> DataFrame:
    alive = before.where("_dead is null")
    results = [sql.expr(a.sql).alias(a.name) for a in step.aggregates]
    if step.having is not None:
        results.append(sql.expr(step.having.sql).alias("_having"))
    by = [sql.col(f"`{name}`") for name in step.by]
    told = alive.groupBy(*by, _placed(step).alias(_PLACED)).agg(*results)
    if step.having is not None:
        told = told.where("_having")
    columns = [
        *(sql.col(f"`{name}`") for name in step.by),
        sql.col(f"{_PLACED}.start").alias("window_start"),
        sql.col(f"{_PLACED}.end").alias("window_end"),
        *(sql.col(f"`{a.name}`") for a in step.aggregates),
        sql.lit("on-time").alias("pane"),
        sql.lit(1).cast("bigint").alias("pane_number"),
        sql.lit(True).alias("is_final"),
        sql.lit(False).alias("is_retraction"),
        sql.date_format(f"{_PLACED}.start", _ISO).alias("_place"),
    ]
    return told.select(sql.struct(*columns).alias("_pane"))


def _placed(step: Window) -> Column:
    kind, time = step.kind, f"`{step.event_time}`"
    assert isinstance(kind, Tumbling | Hopping)  # noqa: S101 - all that is native
    every = kind.every if isinstance(kind, Hopping) else kind.size
    return sql.window(
        time,
        f"{microseconds(kind.size)} microseconds",
        f"{microseconds(every)} microseconds",
        f"{microseconds(kind.offset)} microseconds",
    )


def _event(step: Window) -> Column:
    names = step.input.columns.names
    return sql.struct(*(sql.col(f"`{name}`") for name in names)).alias("_event")


def _nothing(carried: StructType) -> list[Column]:
    return [sql.lit(None).cast(f.dataType).alias(f.name) for f in carried.fields]
