"""Call the joins, which live in the JVM, with data frames."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import DataFrame

from headrace._spark.bridge import java_class
from headrace._spark.columns import require_key

if TYPE_CHECKING:
    from collections.abc import Mapping


class Joining(Protocol):
    """What the operator has to know of a join of two streams."""

    @property
    def terms(self) -> Mapping[str, Any]:
        """All of it, as ``io.headrace.joins.Joins`` reads it."""


def join(
    left: DataFrame, right: DataFrame, step: Joining, *, native: bool = False
) -> DataFrame:
    """Join two streams by key, within an interval of their times.

    ``_kind`` tells results, late rows of the left, dead letters and late rows of the
    right apart: 0, 1, 2 and 4. ``_left`` and ``_right`` hold the rows.

    Each batch of the query reports, as an observed metric ``join.<name>``, what came
    ``in``, and ``matched``, ``unmatched``, ``late``, ``dead_letters`` and
    ``waiting``, by how many more rows wait than before, which add up to it; and
    ``results``.

    State: the rows of both sides, until no partner can come any more.
    Late events: given with how late they are, or only counted.
    After a restart: goes on with the rows of the last committed batch.

    Args:
        left: A stream with a watermark, in append mode.
        right: Another one, whose key has the same types.
        step: Its terms.
        native: Whether Spark's own join is to run it: an inner one that drops late
            rows. It reports ``on_time`` in place of ``matched``, ``unmatched`` and
            ``waiting``.

    Raises:
        StepError: [column-unknown], [column-ambiguous], [key-type-unsupported] a
            column does not serve as a key.
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    for side, df in (("left", left), ("right", right)):
        for name in step.terms[side]["key"]:
            require_key(df, name)
    return _over("SparkJoins" if native else "Joins", left, right, step)


def look_up(events: DataFrame, changes: DataFrame, step: Joining) -> DataFrame:
    """Answer events with the row that a table had for their key at their time.

    ``_kind`` tells results, late events, dead letters and events without a row apart:
    0, 1, 2 and 4. ``_left`` holds the event, ``_right`` the row.

    Each batch of the query reports, as an observed metric ``lookup.<name>``, what
    came ``in``, and ``matched``, ``missing``, ``late``, ``dead_letters`` and
    ``waiting``, by how many more events wait than before, which add up to it; and
    ``results``.

    State: the versions of each row for some time, the last one while it is there; and
        the events that wait.
    Late events: answered for some time; then given on or only counted.
    After a restart: goes on with the rows of the last committed batch.

    Args:
        events: A stream with a watermark, in append mode.
        changes: Every change of the table, as `bridge.table` gives them one by one.
        step: Its terms.

    Raises:
        StepError: [column-unknown], [column-ambiguous], [key-type-unsupported] a
            column does not serve as a key.
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    for name in step.terms["key"]:
        require_key(events, name)
    return _over("Lookups", events, changes, step)


@dataclass(frozen=True)
class Stored:
    """The rows of a table that a committed batch had.

    Args:
        rows: A frame with the column ``after``.
        batch: The batch's number.
    """

    rows: DataFrame
    batch: int


def look_up_held(
    events: DataFrame, changes: DataFrame, stored: Stored | None, step: Joining
) -> DataFrame:
    """Answer events with the last row of their key, out of a table every task holds.

    Rows and metric are those of `look_up`; nothing is late and nothing waits.

    State: none of its own; the table's rows are kept by the step that tells of them.
    Late events: answered like any other.
    After a restart: begins with the rows of the last committed batch.

    Args:
        events: A stream, in append mode.
        changes: The net changes of the table, as `bridge.table` gives them.
        stored: The rows that the query goes on from; None if it begins.
        step: Its terms.

    Raises:
        StepError: [column-unknown], [column-ambiguous], [key-type-unsupported] a
            column does not serve as a key.
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    for name in step.terms["key"]:
        require_key(events, name)
    spark = events.sparkSession
    broadcasts = java_class(spark, "joins.Broadcasts")
    rows, batch = (None, -1) if stored is None else (stored.rows._jdf, stored.batch)
    terms = json.dumps(step.terms)
    told = broadcasts.over(events._jdf, changes._jdf, rows, batch, terms)
    return DataFrame(told, spark)


def ask_remote(events: DataFrame, terms: Mapping[str, Any]) -> DataFrame:
    """Answer events with rows that a database gives while the batch runs.

    Rows and metric are those of `look_up`; nothing is late and nothing waits.

    State: none; each process keeps some answers for a while.
    Late events: answered like any other.
    After a restart: asks again.

    Args:
        events: A stream, in append mode.
        terms: All of it, as ``io.headrace.remote.RemoteLookups`` reads it.

    Raises:
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    spark = events.sparkSession
    lookups = java_class(spark, "remote.RemoteLookups")
    return DataFrame(lookups.over(events._jdf, json.dumps(terms)), spark)


def join_tables(left: DataFrame, right: DataFrame, step: Joining) -> DataFrame:
    """Join the net changes of two tables; give what each batch has changed.

    The rows of both sides before and after a change stand in ``_left_before``,
    ``_right_before``, ``_left_after`` and ``_right_after``, null where there is none.

    State: the rows of both tables.
    Late events: applied like any other.
    After a restart: goes on with the rows of the last committed batch.

    Args:
        left: Net changes, as `bridge.table` gives them.
        right: Those of another table, whose key the left rows name.
        step: Its terms.

    Raises:
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    return _over("TableJoins", left, right, step)


def _over(operator: str, left: DataFrame, right: DataFrame, step: Joining) -> DataFrame:
    spark = left.sparkSession
    joins = java_class(spark, f"joins.{operator}")
    return DataFrame(joins.over(left._jdf, right._jdf, json.dumps(step.terms)), spark)
