"""Let Spark know the function that scores by boosted trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace._spark.bridge import java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def know_trees(spark: SparkSession, name: str) -> None:
    """Register the function in a session, under a name; once or again.

    Raises:
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    java_class(spark, "trees.TreesFunction").register(spark._jsparkSession, name)
