"""Call the keyed operators, which live in the JVM, with data frames.

Each function checks what it is given, then calls the static ``over`` of one class
in ``io.headrace``. Nothing in headrace talks to the JVM but by `java_class`.
"""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from py4j.java_gateway import JavaPackage
from pyspark.sql import DataFrame
from pyspark.sql.classic.column import Column as ClassicColumn

from headrace._spark.columns import require_free, require_key
from headrace._spark.versions import require_supported
from headrace.errors import MachineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, SparkSession

CARRIED = ("_origin", "_dead", "_read")
"""What every row of a plan carries beside its columns: origin, dead letter, source."""

BUCKETS = 4096
"""How many groups keys are kept in, where many are kept together."""

_JAR = Path(__file__).with_name("operators.jar")

_FOUND: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
"""The classes that were looked up in each JVM."""


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


class Deduping(Protocol):
    """What the operator has to know of a dedupe."""

    @property
    def name(self) -> str:
        """The name of its state and metrics."""

    @property
    def by(self) -> str:
        """The column of the id."""

    @property
    def time(self) -> str | None:
        """The column of the event time."""

    @property
    def within(self) -> timedelta:
        """How far apart the same events can be."""


def dedupe(
    df: DataFrame, step: Deduping, *, buckets: int = BUCKETS, is_behind: bool = False
) -> DataFrame:
    """Keep the first event of each id; drop those that repeat it within a time.

    Each batch of the query reports, as observed metrics, ``dedupe.<name>.in`` with
    ``in``, and ``dedupe.<name>.out`` with ``out``, ``duplicates`` and
    ``dead_letters``, which add up to it.

    State: for each id the times of its events that passed, until the watermark is
        more than `within` beyond them, and up to twice as long again.
    Late events: judged like any other; remembered for `within` after the watermark
        at their arrival.
    After a restart: goes on with the ids of the last committed batch.

    Args:
        df: A stream with a watermark, in append mode. Rows with ``_dead`` pass.
        step: Name, id, event time and time.
        buckets: How many groups ids are kept in; state is found by it.
        is_behind: Whether events are judged by the watermark of the batch before.

    Raises:
        StepError: [column-unknown], [column-ambiguous], [key-type-unsupported] the
            column does not serve as an id.
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    require_key(df, step.by)
    # Spark's numbers of time have 64 bits; what is longer is for ever.
    within = min(step.within // timedelta(microseconds=1), 2**62)
    terms = {
        "name": step.name,
        "by": step.by,
        "time": step.time,
        "within_us": within,
        "buckets": buckets,
        "is_behind": is_behind,
    }
    return _over("Dedupe", df, json.dumps(terms))


class Windowing(Protocol):
    """What the operator has to know of a window."""

    @property
    def by(self) -> Sequence[str]:
        """The columns of the key."""

    @property
    def terms(self) -> Mapping[str, Any]:
        """All else, as ``io.headrace.windows.Windows`` reads it."""

    @property
    def engine(self) -> str:
        """Who gathers the events: Spark itself (``native``), or our ``operator``."""


def window(df: DataFrame, step: Windowing) -> DataFrame:
    """Put events into windows; give their panes, late events and dead letters.

    ``_kind`` tells the three apart: 0, 1 and 2. ``_pane`` holds a pane, ``_event`` an
    event with all its columns; origin, dead letter and source stand beside it.

    Each batch of the query reports, as an observed metric ``window.<name>``, what
    came ``in``, and ``on_time``, ``late`` and ``dead_letters``, which add up to it;
    ``panes`` and ``retractions``.

    State: for each key its open windows, until the watermark has passed them.
    Late events: given with how late they are, or only counted.
    After a restart: goes on with the windows of the last committed batch.

    Args:
        df: A stream with a watermark, in append mode.
        step: Its key and terms.

    Raises:
        StepError: [column-unknown], [column-ambiguous], [key-type-unsupported] a
            column does not serve as a key.
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    for name in step.by:
        require_key(df, name)
    spark = df.sparkSession
    name = "SparkWindows" if step.engine == "native" else "Windows"
    windows = java_class(spark, f"windows.{name}")
    told = DataFrame(windows.over(df._jdf, json.dumps(step.terms)), spark)
    return told.select("*", *(f"_event.{name}" for name in CARRIED))


def decode(df: DataFrame, schema: str, options: Mapping[str, str]) -> DataFrame:
    """Read the bytes of a topic's events into columns.

    Args:
        df: Rows as Spark's Kafka source gives them.
        schema: The event's columns, as Spark writes a schema in JSON.
        options: The format and what it needs; see ``io.headrace.formats.Decode``.

    Gives the event's columns, ``_origin`` and ``_dead``: an input that cannot be
    read has a reason there, and no columns.
    """
    spark = df.sparkSession
    decoder = java_class(spark, "formats.Decode")
    return DataFrame(decoder.over(df._jdf, schema, java_map(spark, options)), spark)


class Keeping(Protocol):
    """What the operator has to know of a table."""

    @property
    def terms(self) -> Mapping[str, Any]:
        """All of it, as ``io.headrace.tables.Tables`` reads it."""


def table(df: DataFrame, step: Keeping) -> DataFrame:
    """Keep the last row of each key; give the net change of each key and batch.

    ``before`` and ``after`` are its rows, null where there is none; beside them stand
    ``position``, ``changed_at`` and what every row carries. Dead letters pass.

    Each batch of the query reports, as an observed metric ``table.<name>``, what came
    ``in``, and ``applied``, ``outdated`` and ``dead_letters``, which add up to it;
    and the net changes: ``inserted``, ``updated`` and ``deleted``.

    State: for each key its row and the place of its last change; of a deleted one
        the place, until the watermark is far enough beyond it.
    Late events: applied like any other.
    After a restart: goes on with the rows of the last committed batch.

    Args:
        df: Changes, as `decode_captured` or `decode_upserts` gives them, with a
            watermark, in append mode.
        step: Its terms.

    Raises:
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    spark = df.sparkSession
    tables = java_class(spark, "tables.Tables")
    return DataFrame(tables.over(df._jdf, json.dumps(step.terms)), spark)


def decode_captured(df: DataFrame, schema: str, name: str) -> DataFrame:
    """Read the changes of a captured table; one that cannot be read stops the query.

    Args:
        df: Rows as Spark's Kafka source gives them.
        schema: The table's columns, as Spark writes a schema in JSON.
        name: What the metric ``captured.<name>`` is called by, once in a query.
    """
    spark = df.sparkSession
    decoder = java_class(spark, "formats.DecodeChanges")
    return DataFrame(decoder.captured(df._jdf, schema, name), spark)


def decode_upserts(df: DataFrame, schema: str, options: Mapping[str, str]) -> DataFrame:
    """Read a topic's records as the changes of a table's rows.

    Args:
        df: Rows as Spark's Kafka source gives them.
        schema: The rows' columns, as Spark writes a schema in JSON.
        options: As for `decode`, and ``key``: the column that a record's key tells.
    """
    spark = df.sparkSession
    decoder = java_class(spark, "formats.DecodeChanges")
    return DataFrame(decoder.upserts(df._jdf, schema, java_map(spark, options)), spark)


def encode(df: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Write the column ``payload`` into bytes, as the column ``value``.

    Args:
        df: Rows with a struct called ``payload``.
        options: The format and what it needs; see ``io.headrace.formats.Encode``.
    """
    spark = df.sparkSession
    encoder = java_class(spark, "formats.Encode")
    return DataFrame(encoder.over(df._jdf, java_map(spark, options)), spark)


def encoded(spark: SparkSession, payload: Column, options: Mapping[str, str]) -> Column:
    """Give the bytes of a struct as a column; `options` hold its schema."""
    encoder = java_class(spark, "formats.Encode")
    java_column = encoder.column(payload._jc, java_map(spark, options))
    return ClassicColumn(java_column)


def letter_headers(spark: SparkSession) -> Column:
    """Give the headers of a dead letter, of rows with ``_dead`` and ``_origin``."""
    return ClassicColumn(
        java_class(spark, "formats.LetterHeaders").of(spark._jsparkSession)
    )


def packed(spark: SparkSession, payload: Column, schema: str) -> Column:
    """Give a struct as Spark's own bytes, to be unpacked by the same schema.

    Args:
        spark: The session.
        payload: The struct.
        schema: Its fields, as Spark writes a schema in JSON.
    """
    parcel = java_class(spark, "operators.Parcel")
    return ClassicColumn(parcel.column(payload._jc, schema))


def _over(operator: str, df: DataFrame, *arguments: Any) -> DataFrame:
    spark = df.sparkSession
    java_rows = java_class(spark, f"operators.{operator}").over(df._jdf, *arguments)
    return DataFrame(java_rows, spark)


def java_map(spark: SparkSession, options: Mapping[str, str]) -> Any:
    """Give texts by name as Java has them."""
    jvm: Any = spark._jvm
    made = jvm.java.util.HashMap()
    for name, value in options.items():
        made.put(name, value)
    return made


def java_class(spark: SparkSession, name: str) -> Any:
    """Give a class of ours in the JVM, by its name behind ``io.headrace``.

    Raises:
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    # Py4J asks for each part of a name whether it is a class, and the JVM then looks
    # through every jar: too much for what is asked several times a second.
    known = _FOUND.setdefault(spark._jvm, {})
    if name not in known:
        known[name] = _found_class(spark, name)
    return known[name]


def _found_class(spark: SparkSession, name: str) -> Any:
    require_supported(spark.version)
    found: Any = spark._jvm.io.headrace  # type: ignore[union-attr]
    for part in name.split("."):
        found = getattr(found, part)
    # Py4J takes every name it cannot find for a package.
    if isinstance(found, JavaPackage):
        raise MachineError(
            "operators-jar-missing",
            "this Spark session does not hold headrace's operators",
            detail=f"its JVM knows no io.headrace.{name}.",
            hint="let headrace start the session, or start yours with spark.jars and "
            f"spark.driver.extraClassPath naming {_JAR}.",
        )
    return found
