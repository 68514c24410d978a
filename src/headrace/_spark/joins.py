"""Call the joins, which live in the JVM, with data frames."""

from __future__ import annotations

import json
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


def join(left: DataFrame, right: DataFrame, step: Joining) -> DataFrame:
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

    Raises:
        StepError: [column-unknown], [column-ambiguous], [key-type-unsupported] a
            column does not serve as a key.
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    for side, df in (("left", left), ("right", right)):
        for name in step.terms[side]["key"]:
            require_key(df, name)
    spark = left.sparkSession
    joins = java_class(spark, "joins.Joins")
    terms = json.dumps(step.terms)
    return DataFrame(joins.over(left._jdf, right._jdf, terms), spark)
