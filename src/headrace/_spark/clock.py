"""Call the clocks, which live in the JVM: watermarks that headrace decides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from headrace._spark.bridge import java_class

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


def clocked(df: DataFrame, settings: Mapping[str, Any]) -> DataFrame:
    """Let a source's rows drive the watermark by a strategy.

    Args:
        df: Decoded rows of a stream, with ``_origin``.
        settings: The strategy and its surroundings; see
            ``io.headrace.clock.ClockSettings``.

    Raises:
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    spark = df.sparkSession
    clock = java_class(spark, "clock.Clock")
    return DataFrame(clock.over(df._jdf, json.dumps(settings)), spark)


def woken(df: DataFrame) -> DataFrame:
    """Let a query run a batch at its start where its last run has left one due.

    Args:
        df: What the query gives, whose watermark Spark decides by itself.

    Raises:
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    spark = df.sparkSession
    waker = java_class(spark, "clock.Waker")
    return DataFrame(waker.beside(df._jdf), spark)


def decided(
    spark: SparkSession,
    settings: Mapping[str, Any],
    state: str,
    shown: Mapping[str, Any],
) -> str:
    """Give what a clock decides, without a query.

    Args:
        spark: The session.
        settings: As for `clocked`.
        state: The clock's last offset, or an empty text at the beginning.
        shown: What a batch has shown; see ``io.headrace.clock.Clock.decide``.
    """
    clock = java_class(spark, "clock.Clock")
    found: str = clock.decide(json.dumps(settings), state, json.dumps(shown))
    return found
