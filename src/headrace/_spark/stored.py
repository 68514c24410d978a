"""Read the state of a query that is not running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from headrace._spark.bridge import java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType


def last_batch(spark: SparkSession, checkpoint: str) -> int:
    """Give the last batch that a checkpoint has committed; -1 if there is none."""
    stored = java_class(spark, "tables.StoredTable")
    number: int = stored.lastBatch(spark._jsparkSession, checkpoint)
    return number


def stored_rows(
    spark: SparkSession, checkpoint: str, batch: int, table: str, row: DataType
) -> DataFrame:
    """Give the rows that a table had after a batch, as the column ``after``.

    Args:
        spark: The session.
        checkpoint: Of a query that is not running.
        batch: A batch that it has committed.
        table: The name that the table is kept under.
        row: The type of its rows.
    """
    stored = java_class(spark, "tables.StoredTable")
    jvm: Any = spark._jvm
    columns = jvm.org.apache.spark.sql.types.DataType.fromJson(row.json())
    session = spark._jsparkSession
    return DataFrame(stored.rows(session, checkpoint, batch, table, columns), spark)
