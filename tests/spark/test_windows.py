"""Windows in real streaming queries, beside the model in plain Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from pyspark.sql import SparkSession
from window_cases import KINDS, PLANS, SPREADABLE, History, histories, seeded, spread
from window_soak import again
from window_verdict import try_history

CASES = 75


@pytest.mark.parametrize("seed", range(len(PLANS)))
@pytest.mark.parametrize("kind", KINDS)
def test_spark_agrees_with_the_model(
    spark: SparkSession, tmp_path: Path, kind: str, seed: int
) -> None:
    try_history(spark, tmp_path, seeded(seed, kind, CASES), again(kind, seed))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", SPREADABLE)
def test_spark_agrees_with_the_model_where_hot_keys_are_spread(
    spark: SparkSession, tmp_path: Path, kind: str, seed: int
) -> None:
    history = spread(seed, kind, CASES)

    try_history(spark, tmp_path, history, again(kind, seed, is_spread=True))


@settings(max_examples=3, deadline=None, derandomize=True, database=None)
@given(history=histories())
def test_spark_agrees_on_streams_that_hypothesis_makes(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, history: History
) -> None:
    home = tmp_path_factory.mktemp("history")

    try_history(spark, home, history, "a history that hypothesis has made")
