"""Call the keyed operators, which live in the JVM, with data frames.

Each function checks what it is given, then calls the static ``over`` of one class
in ``io.headrace.operators``. Nothing else in headrace talks to the JVM.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaPackage  # type: ignore[import-untyped]
from pyspark.sql import DataFrame

from headrace._spark.columns import require_free, require_key
from headrace._spark.versions import require_supported
from headrace.errors import MachineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JAR = Path(__file__).with_name("operators.jar")


def operators_jar() -> Path:
    """Give the jar of operators that is part of this package.

    Raises:
        MachineError: [operators-jar-missing] it has not been built.
    """
    if not _JAR.is_file():
        raise MachineError(
            "operators-jar-missing",
            "headrace's operators are not built",
            detail=f"{_JAR} does not exist; every released wheel holds it.",
            hint="in a clone, run `python jvm/hatch_build.py` (it needs a JDK); "
            "otherwise `pip install --force-reinstall --no-deps headrace`.",
        )
    return _JAR


def running_count(df: DataFrame, key: str) -> DataFrame:
    """Count the rows of each key since the stream began.

    For each micro-batch, every key that occurred in it gives one row: the key, in
    its own type, and ``count``, the number of its rows so far. Rows whose key is
    null are counted together, as one key. Works in append and in update mode.

    State: one number per key; nothing clears it.
    Late events: counted like any other, as no time is looked at.
    After a restart: goes on from the counts of the last committed batch.

    Args:
        df: A stream, or a finished data frame, which counts as one batch.
        key: The column to count by.

    Raises:
        StepError: [column-unknown], [column-ambiguous], [key-type-unsupported],
            [column-taken] the column does not serve as a key here.
        MachineError: [operators-jar-missing] `df` belongs to a session without the
            operators; [spark-version-unsupported] to a Spark they do not fit.

    Example:
        >>> users = [("ann",), ("bob",), ("ann",)]
        >>> clicks = spark.createDataFrame(users, "user string")
        >>> running_count(clicks, "user").orderBy("user").show()
        +----+-----+
        |user|count|
        +----+-----+
        | ann|    2|
        | bob|    1|
        +----+-----+
        <BLANKLINE>
    """
    require_key(df, key)
    require_free(df, key, "count")
    return _over("RunningCount", df, key)


def _over(operator: str, df: DataFrame, *arguments: str) -> DataFrame:
    spark = df.sparkSession
    java_rows = _operator(spark, operator).over(df._jdf, *arguments)
    return DataFrame(java_rows, spark)


def _operator(spark: SparkSession, name: str) -> Any:
    require_supported(spark.version)
    jvm: Any = spark._jvm
    found = getattr(jvm.io.headrace.operators, name)
    # Py4J takes every name it cannot find for a package.
    if isinstance(found, JavaPackage):
        raise MachineError(
            "operators-jar-missing",
            "this Spark session does not hold headrace's operators",
            detail=f"its JVM knows no io.headrace.operators.{name}.",
            hint="let headrace start the session, or start yours with spark.jars and "
            f"spark.driver.extraClassPath naming {_JAR}.",
        )
    return found
