"""The pace of a query's batches, which is kept in the JVM."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from headrace._spark.bridge import java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACED_KAFKA = "io.headrace.pace.PacedKafka"
"""Spark's own source of Kafka, which keeps a pace; see ``io.headrace.pace``."""

PACE_OPTION = "paceMs"
"""Its option: the most milliseconds from one batch of few events to the next."""

_MS = timedelta(milliseconds=1)


def pause(
    spark: SparkSession,
    most: timedelta,
    *,
    took: timedelta,
    gap: timedelta,
    records: int,
    behind: bool = False,
) -> timedelta:
    """Give the time after a batch in which no other one begins.

    Args:
        spark: The session.
        most: The time from one batch to the next that is never exceeded.
        took: How long the batch took.
        gap: From the begin of the batch before to its begin.
        records: How many it had.
        behind: Whether it left some that were there.
    """
    pace = java_class(spark, "pace.Pace")
    times = (moment // _MS for moment in (most, took, gap))
    milliseconds: int = pace.pauseMs(*times, records, behind)
    return milliseconds * _MS
