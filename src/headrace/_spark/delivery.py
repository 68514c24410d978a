"""Call the delivery, which lives in the JVM, with streaming queries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headrace._spark.bridge import java_class, java_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def attach_delivery(
    writer: DataStreamWriter, options: Mapping[str, str]
) -> DataStreamWriter:
    """Let a query deliver its outgoing rows into its sinks.

    Args:
        writer: Of a stream of outgoing rows.
        options: From where to where; see ``io.headrace.delivery.Delivery``.
    """
    spark = writer._spark
    delivery = java_class(spark, "delivery.Delivery")
    delivery.attach(writer._jwrite, java_map(spark, options))
    return writer


def open_delivery(spark: SparkSession, options: Mapping[str, str]) -> None:
    """Prepare the delivery of batches that come one by one, by `write_batch`."""
    java_class(spark, "delivery.Delivery").open(java_map(spark, options))


def write_batch(batch: DataFrame, number: int, pipeline: str, query: str) -> None:
    """Deliver a batch of a query that was opened."""
    delivery = java_class(batch.sparkSession, "delivery.Delivery")
    delivery.write(pipeline, query, batch._jdf, number)


def delivery_report(spark: SparkSession, pipeline: str, query: str) -> dict[str, Any]:
    """Give what a query of this process has delivered since it was attached."""
    delivery = java_class(spark, "delivery.Delivery")
    report: dict[str, Any] = json.loads(delivery.report(pipeline, query))
    return report


def told_batches(
    spark: SparkSession, query: StreamingQuery, after: int
) -> list[dict[str, Any]]:
    """Give what Spark tells of the batches that ended after a given one."""
    told = java_class(spark, "delivery.Told").after(query._jsq, after)
    batches: list[dict[str, Any]] = json.loads(told)
    return batches


def close_delivery(spark: SparkSession, pipeline: str, query: str) -> None:
    """Close what the JVM keeps open for a query that has ended."""
    java_class(spark, "delivery.Delivery").close(pipeline, query)
