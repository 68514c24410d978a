"""What Spark's heartbeat may ask of our accumulators, whenever it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace._spark.bridge import java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    "name", ["clock.Sightings", "joins.TableChanges", "batches.Tallies"]
)
def test_one_that_is_still_being_read_is_zero(spark: SparkSession, name: str) -> None:
    """Java makes an object, tells Spark of it, and reads its fields afterwards."""
    jvm: Any = spark._jvm
    kind = jvm.java.lang.Class.forName(java_class(spark, name)._fqn)
    unread = jvm.org.objenesis.ObjenesisStd().newInstance(kind)
    is_zero = kind.getMethod("isZero", None)
    is_zero.setAccessible(True)

    assert is_zero.invoke(unread, None) is True
