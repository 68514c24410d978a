"""Spark computes the score of the fraud model as Python does, in compiled code."""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf, nextafter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import model
import pytest
from features import Features, features
from model import REASON, Model, reason
from traffic import Traffic

from headrace._spark.trees import know_trees
from headrace.schema.types import Field, Real, Record, Whole
from headrace.trees.model import FUNCTION
from headrace.trees.nodes import splits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from headrace import BoostedTrees

COLUMNS = Record(
    tuple(
        Field(name, Real() if name == "times_usual" else Whole())
        for name in Features._fields
    )
)

# What the JVM's compiler takes; a longer method would be interpreted for ever.
COMPILED_BYTES = 8000


@pytest.fixture(scope="module")
def committed() -> Model:
    return Model.load(Path(model.__file__).parent / "model.json")


def around(one: Features, trees: BoostedTrees) -> Iterator[Features]:
    """Put each threshold, and its neighbours, into a transaction."""
    for feature, limit, *_ in splits(trees.trees):
        near = (
            (nextafter(limit, -inf), limit, nextafter(limit, inf))
            if feature == "times_usual"
            else (int(limit) - 1, int(limit), int(limit) + 1)
        )
        for value in near:
            changed: dict[str, Any] = one._asdict()
            changed[feature] = value
            yield Features(**changed)


def scored(rows: DataFrame, by: Model) -> DataFrame:
    know_trees(rows.sparkSession, FUNCTION)
    score = by.trees.over(COLUMNS, "here").text
    return rows.selectExpr("*", f"{score} as score", f"{REASON} as reason")


def test_spark_scores_as_python_does(spark: SparkSession, committed: Model) -> None:
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    traffic = Traffic(seed=8, rate=100, seconds=20, start=noon)
    told = [f for _, f in features(traffic.arrivals(), traffic.profiles)]
    suspect = max(told, key=committed.score)
    told += [*around(told[0], committed.trees), *around(suspect, committed.trees)]
    columns = ", ".join(f"{field.name} {field.type.sql}" for field in COLUMNS)
    answers = scored(spark.createDataFrame(told, columns), committed).collect()

    assert len(answers) == len(told)
    for row, one in zip(answers, told, strict=True):
        assert row.score == pytest.approx(committed.score(one), rel=1e-14, abs=0)
        assert row.reason == reason(one)


def test_the_score_is_compiled_with_its_stage(
    spark: SparkSession, committed: Model
) -> None:
    made = [f"cast(id as {field.type.sql}) as {field.name}" for field in COLUMNS]
    rows = scored(spark.range(1).selectExpr(*made), committed)
    rows = rows.where("payments > 10 or score > 0.9")
    stages = rows._jdf.queryExecution().debug().codegenToSeq()
    sizes = [stages.apply(n)._3().maxMethodCodeSize() for n in range(stages.size())]

    assert len(sizes) == 1
    assert 0 < sizes[0] < COMPILED_BYTES
