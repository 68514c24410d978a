"""Read what sinks without a server of their own hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import DeliveryError
from headrace.sinks.places import absolute

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_files(spark: SparkSession, path: str) -> DataFrame:
    """Give the rows of a directory that ``sinks.files`` writes, each once.

    Only files that a manifest names are read. Columns that came later are null in
    earlier rows. The frame holds what is there now; call again for more.

    Args:
        spark: A session with headrace's operators, as `headrace.testing.session`.
        path: What the sink was given.

    Raises:
        DeliveryError: [nothing-written] no sink has written there.

    Example:
        ``read_files(spark, "lake/archive").groupBy("country").count().show()``
    """
    reader = _java(spark, "FilesReader")
    found = reader.read(spark._jsparkSession, absolute(path))
    if found is None:
        raise DeliveryError(
            "nothing-written",
            f"no sink has written to directory {path}",
            detail="sinks.files(...) adds a manifest to its directory _headrace with "
            "each batch that has rows; there is none.",
            hint="give the path that the sink was given, once a batch has come.",
        )
    return _frame(found, spark)


def read_memory(spark: SparkSession, pipeline: str, output: str) -> DataFrame:
    """Give the rows that an output of ``sinks.memory`` holds in this process.

    Args:
        spark: The session that runs the pipeline.
        pipeline: The pipeline's name.
        output: The output's name in it.

    Raises:
        DeliveryError: [nothing-written] no such output was started here.

    Example:
        ``read_memory(spark, "fraud", "alerts").show()``
    """
    held = _java(spark, "MemorySink")
    found = held.read(spark._jsparkSession, f"{pipeline}.{output}")
    if found is None:
        raise DeliveryError(
            "nothing-written",
            f'no output "{output}" of a pipeline "{pipeline}" is in memory',
            detail="rows are in the memory of the process that runs the pipeline.",
            hint="start the pipeline in this process, with sinks.memory() as its sink.",
        )
    return _frame(found, spark)


def _java(spark: SparkSession, name: str) -> Any:
    # Spark is loaded by those who read, not by those who declare.
    from headrace._spark.bridge import java_class  # noqa: PLC0415

    return java_class(spark, f"sinks.lake.{name}")


def _frame(java_rows: Any, spark: SparkSession) -> DataFrame:
    from pyspark.sql import DataFrame  # noqa: PLC0415

    return DataFrame(java_rows, spark)
