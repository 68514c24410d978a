"""How wide numbers are: as they were told, whatever Spark's functions give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import FloatType, IntegralType

from headrace.schema.types import Real, Whole

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

    from headrace.schema.types import FieldType

_WIDE = {Whole: IntegralType, Real: FloatType}


def widened(value: Column, told: FieldType, before: DataFrame) -> Column:
    """Give numbers the 64 bits that were told; many of Spark's functions give 32."""
    if type(told) not in _WIDE or not is_narrow(before.select(value).schema[0], told):
        return value
    return value.cast(told.sql)


def is_narrow(found: StructField, told: FieldType) -> bool:
    """Tell whether a number that Spark has found is not as wide as was told."""
    wide = _WIDE.get(type(told))
    if wide is None or not isinstance(found.dataType, wide):
        return False
    return found.dataType.simpleString() != told.sql
