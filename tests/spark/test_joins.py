"""Joins of two streams in real queries, beside the model in plain Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.cases.join_cases import seeded
from support.cases.join_trial import try_history
from support.models.join_model import KINDS

CASES = 200


@pytest.mark.parametrize("kind", KINDS)
def test_spark_agrees_with_the_model(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    trial = try_history(spark, tmp_path, seeded(0, kind, CASES))

    assert sum(sum(given.results.values()) for given in trial.given.values()) > CASES


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("kind", KINDS)
def test_spark_agrees_with_the_model_at_length(
    spark: SparkSession, tmp_path: Path, kind: str, seed: int
) -> None:
    try_history(spark, tmp_path, seeded(seed, kind, CASES))
