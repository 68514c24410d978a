"""Joins of two tables in real queries, beside two dictionaries."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.cases.table_join_trial import history, try_history

CASES = 200


@pytest.mark.parametrize(
    ("kind", "by_key"), [("inner", False), ("left", False), ("full", True)]
)
def test_spark_keeps_the_join_of_both_tables(
    spark: SparkSession, tmp_path: Path, kind: str, by_key: bool
) -> None:
    changes = try_history(spark, tmp_path, history(0, kind, by_key, CASES))

    assert changes > CASES


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize(
    ("kind", "by_key"),
    [
        ("inner", False),
        ("inner", True),
        ("left", False),
        ("left", True),
        ("full", True),
    ],
)
def test_spark_keeps_the_join_of_both_tables_at_length(
    spark: SparkSession, tmp_path: Path, kind: str, by_key: bool, seed: int
) -> None:
    try_history(spark, tmp_path, history(seed, kind, by_key, CASES))
