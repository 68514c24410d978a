"""Groups of tables in real queries, beside a model in plain Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.cases.group_cases import one_large_life, small_lives
from support.cases.group_trial import eventful, history, try_history

CASES = 200


@pytest.mark.parametrize("shape", ["all", "owned", "compared"])
def test_groups_are_those_of_the_rows_that_are_there(
    spark: SparkSession, tmp_path: Path, shape: str
) -> None:
    batches = small_lives(shape, CASES, 4)

    trial = try_history(spark, tmp_path, history(shape, batches))

    assert sum(len(told) for told in trial.changes.values()) > CASES


def test_a_large_group_knows_its_next_values_when_the_first_are_gone(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = one_large_life("large", 900, 3)

    try_history(spark, tmp_path, history("all", batches, page_bytes=256, partitions=1))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("shape", ["all", "owned", "compared"])
def test_groups_are_those_of_the_rows_that_are_there_at_length(
    spark: SparkSession, tmp_path: Path, shape: str, seed: int
) -> None:
    batches = small_lives(f"{shape}/{seed}", CASES, 10)

    try_history(spark, tmp_path, eventful(shape, batches, seed, partitions=3))


@pytest.mark.long
@pytest.mark.parametrize("page_bytes", [64, 256, 4096])
def test_large_groups_are_kept_in_pages_of_any_size(
    spark: SparkSession, tmp_path: Path, page_bytes: int
) -> None:
    batches = one_large_life(f"large/{page_bytes}", 5000, 9)

    try_history(spark, tmp_path, eventful("all", batches, 0, page_bytes=page_bytes))
