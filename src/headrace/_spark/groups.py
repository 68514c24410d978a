"""Call the operator of groups, which lives in the JVM, with a data frame."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import DataFrame

from headrace._spark.bridge import java_class

if TYPE_CHECKING:
    from collections.abc import Mapping


class Grouping(Protocol):
    """What the operator has to know of the groups of a table."""

    @property
    def terms(self) -> Mapping[str, Any]:
        """All of it, as ``io.headrace.groups.Groups`` reads it."""


def group(changes: DataFrame, step: Grouping) -> DataFrame:
    """Add rows to the totals of groups, and take them back; give what has changed.

    ``_key`` is the key of a group, ``_before`` and ``_after`` hold its totals as
    ``_0``, ``_1`` and so on, null where the group has no rows.

    State: the totals of each group, and different values where a total needs them;
        nothing once it has no rows.
    Late events: applied like any other.
    After a restart: goes on with the totals of the last committed batch.

    Args:
        changes: Of each change ``_key_before``, ``_values_before``, ``_key_after`` and
            ``_values_after``, null where there is no row.
        step: Its terms.

    Raises:
        MachineError: [operators-jar-missing], [spark-version-unsupported].
    """
    spark = changes.sparkSession
    groups = java_class(spark, "groups.Groups")
    return DataFrame(groups.over(changes._jdf, json.dumps(step.terms)), spark)
