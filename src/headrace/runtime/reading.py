"""Open a pipeline's topics as Spark's own Kafka source does."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from headrace._spark.pace import PACE_OPTION, PACED_KAFKA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.plan.steps import Read


def kafka_rows(
    spark: SparkSession,
    read: Read,
    bootstrap: str,
    *,
    most_per_batch: int | None = None,
    pace: timedelta | None = None,
) -> DataFrame:
    """Give a topic's records as rows, from where the checkpoint has come to.

    Args:
        spark: The session.
        read: The step that reads it.
        bootstrap: The brokers' addresses.
        most_per_batch: How many records a batch takes at the most.
        pace: The most time from one batch of few records to the next, for which they
            wait; by default they do not.
    """
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": read.topic,
        "startingOffsets": read.start,
        "includeHeaders": "true",
        # Records that retention took before they were read are an error, not a gap.
        "failOnDataLoss": "true",
        # Events of transactions that were never committed do not exist.
        "kafka.isolation.level": "read_committed",
    }
    if most_per_batch is not None:
        options["maxOffsetsPerTrigger"] = str(most_per_batch)
    source = "kafka"
    if pace is not None:
        source = PACED_KAFKA
        options[PACE_OPTION] = str(pace // timedelta(milliseconds=1))
    return spark.readStream.format(source).options(**options).load()
