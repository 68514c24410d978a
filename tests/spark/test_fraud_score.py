"""Spark computes the score of the fraud model as Python does, in compiled code."""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf, nextafter
from pathlib import Path
from typing import TYPE_CHECKING

import model
import pytest
from features import Features, features
from model import REASON, Model, Split, Tree, reason
from traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

TYPES = dict.fromkeys(Features._fields, "bigint") | {"times_usual": "double"}

# What the JVM's compiler takes; a longer method would be interpreted for ever.
COMPILED_BYTES = 8000


@pytest.fixture(scope="module")
def committed() -> Model:
    return Model.load(Path(model.__file__).parent / "model.json")


def splits(tree: Tree) -> Iterator[Split]:
    if isinstance(tree, Split):
        yield tree
        yield from splits(tree.left)
        yield from splits(tree.right)


def around(one: Features, trees: tuple[Tree, ...]) -> Iterator[Features]:
    """Put each threshold, and its neighbours, into a transaction."""
    for tree in trees:
        for split in splits(tree):
            limit = split.threshold
            near = (
                (limit - 1, limit, limit + 1)
                if isinstance(limit, int)
                else (nextafter(limit, -inf), limit, nextafter(limit, inf))
            )
            for value in near:
                yield one._replace(**{split.feature: value})


def scored(rows: DataFrame, by: Model) -> DataFrame:
    return rows.selectExpr("*", f"{by.sql()} as score", f"{REASON} as reason")


def test_spark_scores_as_python_does(spark: SparkSession, committed: Model) -> None:
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    traffic = Traffic(seed=8, rate=100, seconds=20, start=noon)
    told = [f for _, f in features(traffic.arrivals(), traffic.profiles)]
    suspect = max(told, key=committed.score)
    told += [*around(told[0], committed.trees), *around(suspect, committed.trees)]
    columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    answers = scored(spark.createDataFrame(told, columns), committed).collect()

    assert len(answers) == len(told)
    for row, one in zip(answers, told, strict=True):
        assert row.score == pytest.approx(committed.score(one), rel=1e-12, abs=1e-15)
        assert row.reason == reason(one)


def test_the_score_is_compiled_with_its_stage(
    spark: SparkSession, committed: Model
) -> None:
    made = [f"cast(id as {kind}) as {name}" for name, kind in TYPES.items()]
    rows = scored(spark.range(1).selectExpr(*made), committed)
    rows = rows.where("payments > 10 or score > 0.9")
    stages = rows._jdf.queryExecution().debug().codegenToSeq()
    sizes = [stages.apply(n)._3().maxMethodCodeSize() for n in range(stages.size())]

    assert len(sizes) == 1
    assert 0 < sizes[0] < COMPILED_BYTES
