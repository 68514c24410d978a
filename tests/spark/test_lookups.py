"""Joins with a table in real queries, beside the model in plain Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.cases.lookup_cases import PLANS, history
from support.cases.lookup_trial import try_history

CASES = 200
# What differs from these in one thing is tried at length.
ORDINARY = ("settled", "known", "waiting", "corrected", "latest", "broadcast")


@pytest.mark.parametrize("plan", ORDINARY)
def test_spark_agrees_with_the_model(
    spark: SparkSession, tmp_path: Path, plan: str
) -> None:
    trial = try_history(spark, tmp_path, history(0, plan, CASES))

    assert sum(sum(given.results.values()) for given in trial.given.values()) > CASES


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("plan", PLANS)
def test_spark_agrees_with_the_model_at_length(
    spark: SparkSession, tmp_path: Path, plan: str, seed: int
) -> None:
    try_history(spark, tmp_path, history(seed, plan, CASES))
