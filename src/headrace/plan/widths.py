"""How wide numbers are: as they were told, whatever Spark's functions give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import FloatType, IntegralType

from headrace.schema.types import Real, Whole

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from headrace.schema.types import FieldType


def widened(value: Column, told: FieldType, before: DataFrame) -> Column:
    """Give numbers the 64 bits that were told; many of Spark's functions give 32."""
    wide = {Whole: IntegralType, Real: FloatType}.get(type(told))
    if wide is None or not isinstance(before.select(value).schema[0].dataType, wide):
        return value
    return value.cast(told.sql)
