"""Windows of Spark's own, beside the model in plain Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from window_cases import plain
from window_verdict import try_history

CASES = 60


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["tumbling", "hopping"])
def test_sparks_own_windows_agree_with_the_model(
    spark: SparkSession, tmp_path: Path, kind: str, seed: int
) -> None:
    history = plain(seed, kind, CASES)

    try_history(spark, tmp_path, history, f"{kind}, seed {seed}", engine="native")
