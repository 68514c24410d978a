"""From the groups of a table to data frames: values in, rows of totals out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sql
from pyspark.sql.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    LongType,
    StructType,
)

from headrace._spark.bridge import CARRIED
from headrace._spark.columns import identified_by_bytes, require_key
from headrace._spark.groups import group
from headrace.errors import StepError
from headrace.plan.group_totals import unordered
from headrace.plan.widths import is_narrow

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from headrace.plan.groups import GroupTable
    from headrace.schema.expressions import Expression

_ROWS = ("before", "after")
_SUMS = {"sum", "avg"}
_COUNTS = {"rows", "count"}


def grouped(changes: DataFrame, step: GroupTable) -> DataFrame:
    """Give the changes of a table's groups.

    Args:
        changes: The changes of the table.
        step: The step.

    Raises:
        StepError: [key-type-unsupported], [types-differ] a type that only Spark could
            tell does not serve.
    """
    rows = changes.select("after.*")
    for name in step.by:
        require_key(rows, name)
    values = _Values(changes, step)
    prepared = changes.select(
        *(_if_any(row, _key(step, row)).alias(f"_key_{row}") for row in _ROWS),
        *(_if_any(row, values.of(row)).alias(f"_values_{row}") for row in _ROWS),
        "changed_at",
        *CARRIED,
    )
    told = group(prepared, step)
    types = told.select(*_results(step, "_after")).schema
    result = told.select(
        *(_row(step, row, types).alias(row) for row in _ROWS),
        sql.lit(None).cast("bigint").alias("position"),
        "changed_at",
        *CARRIED,
    )
    # What stands around the totals may give the same as before.
    before, after = sql.col("before"), sql.col("after")
    is_dead = sql.isnotnull("_dead")
    kept = result.where(is_dead | ~before.eqNullSafe(after))
    return kept.observe(
        f"group.{step.name}",
        _number(before.isNull() & after.isNotNull()).alias("inserted"),
        _number(before.isNotNull() & after.isNotNull()).alias("updated"),
        _number(before.isNotNull() & after.isNull()).alias("deleted"),
        _number(is_dead).alias("dead_letters"),
    )


class _Values:
    """The values of a row that totals are of, in types that the operator takes."""

    def __init__(self, changes: DataFrame, step: GroupTable) -> None:
        found = step.values
        probe = [
            sql.expr(value.inside("after")).alias(f"_{number}")
            for number, value in enumerate(found)
        ]
        kinds = [field.dataType for field in changes.select(*probe).schema]
        for total in step.totals:
            if total.of is not None:
                kind = kinds[found.index(total.of)]
                _require_fitting(total.function, total.of, kind, step.where)
        self._values = list(zip(found, kinds, strict=True))

    def of(self, row: str) -> Column:
        """Give the values of the row before a change, or after it."""
        if not self._values:
            return sql.struct(sql.lit(True).alias("_none"))
        return sql.struct(
            *(
                _plain(sql.expr(value.inside(row)), kind).alias(f"_{number}")
                for number, (value, kind) in enumerate(self._values)
            )
        )


def _plain(value: Column, kind: DataType) -> Column:
    """Give numbers their full width, and equal values the same bytes."""
    if isinstance(kind, IntegralType) and not isinstance(kind, LongType):
        return value.cast("bigint")
    if isinstance(kind, DoubleType | FloatType):
        wide = value.cast("double")
        zero, nan = sql.lit(0.0), sql.lit(float("nan"))
        return sql.when(wide == zero, zero).when(sql.isnan(wide), nan).otherwise(wide)
    if isinstance(kind, StructType):
        inside = [
            _plain(value.getField(field.name), field.dataType).alias(field.name)
            for field in kind
        ]
        return sql.when(value.isNotNull(), sql.struct(*inside))
    return value


def _require_fitting(
    function: str, value: Expression, kind: DataType, where: str
) -> None:
    """Refuse a type that only Spark could tell, and that does not serve.

    Raises:
        StepError: [types-differ] values are summed up or compared that cannot be.
    """
    if function in _COUNTS:
        return
    if function in _SUMS:
        if not isinstance(kind, IntegralType | DecimalType | DoubleType | FloatType):
            raise StepError(
                "types-differ",
                f"{function} computes with `{value.text}` of type "
                f"{kind.simpleString()}",
                hint="give it what it can take: `cast(x as double)`.",
                where=where,
            )
        return
    parts = [kind]
    if isinstance(kind, StructType) and function == "distinct":
        parts = [field.dataType for field in kind]
    for part in parts:
        is_real = isinstance(part, DoubleType | FloatType)
        if not is_real and not identified_by_bytes(part):
            shown = f"{function} of `{value.text}`"
            raise unordered(shown, part.simpleString(), where)


def _if_any(row: str, value: Column) -> Column:
    return sql.when(sql.isnotnull(row), value)


def _key(step: GroupTable, row: str) -> Column:
    return sql.struct(*(sql.col(f"{row}.`{name}`").alias(name) for name in step.by))


def _row(step: GroupTable, row: str, types: StructType) -> Column:
    """Give the row of a group before or after a batch; null if there is none."""
    totals = f"_{row}"
    fields = [sql.col(f"_key.`{name}`").alias(name) for name in step.by]
    results = zip(_results(step, totals), step.told, types, strict=True)
    for result, one, found in results:
        told = one.result.type
        value = result.cast(told.sql) if is_narrow(found, told) else result
        fields.append(value.alias(one.name))
    return sql.when(sql.isnotnull(totals), sql.struct(*fields))


def _results(step: GroupTable, totals: str) -> list[Column]:
    return [sql.expr(one.result.inside(totals)) for one in step.told]


def _number(condition: Column) -> Column:
    return sql.count(sql.when(condition, sql.lit(1)))
