"""Tables in real streaming queries, beside the model in plain Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from support.cases.table_cases import PLANS, history
from support.cases.table_trial import try_history

CASES = 40


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("plan", PLANS)
def test_spark_agrees_with_the_model(
    spark: SparkSession, tmp_path: Path, plan: str, seed: int
) -> None:
    made = history(seed, plan, CASES)

    trial = try_history(spark, tmp_path, made)

    changes = sum(len(c) for batch in made.batches for c in batch.values())
    assert trial.counted("in") == changes
    assert trial.counted("applied") + trial.counted("outdated") == changes
