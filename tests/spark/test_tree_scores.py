"""Spark scores by boosted trees as Python does, with code that no tree makes longer."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from itertools import product
from math import exp, inf, nan, nextafter
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as sql

from headrace import BoostedTrees, Pipeline, StepError, event, kafka, sinks
from headrace._spark.trees import know_trees
from headrace.schema.types import Exact, Field, Real, Record, Whole
from headrace.testing import Rig
from headrace.trees.model import FUNCTION
from headrace.trees.nodes import Node

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

COLUMNS = Record(
    (
        Field("whole", Whole()),
        Field("real", Real()),
        Field("exact", Exact(12, 2)),
        Field("case", Whole()),
    )
)
LIMITS: dict[str, list[float]] = {
    "whole": [-3, 0, 4, 2**53],
    "real": [-1.5, 0.0, 0.1, 2.5e-5, 1e300],
    "exact": [0, 0.1, 12.34],
    "case": [0.5, 2],
}
VALUES: dict[str, list[Any]] = {
    "whole": [None, *(n + step for n in (-3, 0, 4, 2**53) for step in (-1, 0, 1))],
    "real": [
        *(None, nan, inf, -inf, -0.0),
        *(
            near
            for limit in LIMITS["real"]
            for near in (nextafter(limit, -inf), limit, nextafter(limit, inf))
        ),
    ],
    "exact": [Decimal(text) for text in ("-0.01", "0", "0.1", "0.11", "12.34")],
    "case": [0, 1, 2, 3],
}

# What the JVM's compiler takes; a longer method would be interpreted for ever.
COMPILED_BYTES = 8000


def tree(chance: random.Random, depth: int) -> Node:
    if depth == 0 or chance.random() < 0.2:
        return chance.uniform(-3, 3)
    feature = chance.choice(COLUMNS.names)
    below = tree(chance, depth - 1), tree(chance, depth - 1)
    return (feature, chance.choice(LIMITS[feature]), *below)


def model(seed: int, trees: int | None = None) -> BoostedTrees:
    chance = random.Random(seed)  # noqa: S311
    count = trees or chance.randint(1, 8)
    return BoostedTrees(
        COLUMNS.names,
        [tree(chance, chance.randint(0, 5)) for _ in range(count)],
        initial=chance.uniform(-1, 1),
        learning_rate=chance.choice([1, 0.1, 0.5]),
        logistic=chance.random() < 0.5,
    )


def wanted(by: BoostedTrees, told: dict[str, Any]) -> float | None:
    is_known = all(told[name] is not None for name in by.asked)
    return by.score(told) if is_known else None


def score(by: BoostedTrees) -> Column:
    return sql.expr(by.over(COLUMNS, "here").text)


@pytest.fixture(scope="module")
def told() -> list[dict[str, Any]]:
    """Give rows of thresholds, of their neighbours, and of what is no number."""
    chance = random.Random(1)  # noqa: S311
    rows = [
        dict(zip(COLUMNS.names, values, strict=True))
        for values in product(*VALUES.values())
    ]
    return chance.sample(rows, 250)


@pytest.fixture(scope="module")
def rows(spark: SparkSession, told: list[dict[str, Any]]) -> DataFrame:
    know_trees(spark, FUNCTION)
    schema = "whole bigint, real double, exact decimal(12,2), `case` bigint"
    values = [tuple(row.values()) for row in told]
    return spark.createDataFrame(values, schema).coalesce(1)


def test_two_hundred_models_score_as_python_does(
    rows: DataFrame, told: list[dict[str, Any]]
) -> None:
    models = [model(seed) for seed in range(200)]
    columns = [score(by).alias(f"_{place}") for place, by in enumerate(models)]
    answers = rows.select(*columns).collect()

    assert len(answers) == len(told)
    for row, one in zip(answers, told, strict=True):
        for found, by in zip(row, models, strict=True):
            expected = wanted(by, one)
            if expected is None:
                assert found is None
            else:
                assert found == pytest.approx(expected, rel=1e-14, abs=0)


def test_a_model_scores_the_rows_inside_of_a_struct(
    rows: DataFrame, told: list[dict[str, Any]]
) -> None:
    by = model(7)
    inside = sql.expr(by.over(COLUMNS, "here").inside("row"))
    packed = rows.select(sql.struct("*").alias("row"))

    plain = [row[0] for row in rows.select(score(by)).collect()]
    assert [row[0] for row in packed.select(inside).collect()] == plain
    assert len({*plain}) > 2


def generated(frame: DataFrame) -> list[tuple[str, int]]:
    """Give the code of each stage, and the bytes of its longest method."""
    stages = frame._jdf.queryExecution().debug().codegenToSeq()
    found = [stages.apply(n) for n in range(stages.size())]
    return [(stage._2(), stage._3().maxMethodCodeSize()) for stage in found]


def test_three_hundred_trees_are_compiled_to_the_code_of_one(
    spark: SparkSession, rows: DataFrame
) -> None:
    source = [f"cast(id as {field.type.sql}) as `{field.name}`" for field in COLUMNS]
    made = spark.range(9).selectExpr(*source)
    many = model(3, trees=300)
    # One tree that asks for the same features, in a comb.
    comb: Node = 0.5
    for name in many.asked:
        comb = (name, 1, comb, 1.5)
    stages = [
        generated(made.select(score(by).alias("s")))
        for by in (many, replace(many, trees=[comb]))
    ]

    assert many.asked == tuple(COLUMNS.names)
    assert stages[0] == stages[1]
    assert all(0 < size < COMPILED_BYTES / 4 for _, size in stages[0])
    assert len(stages[0]) == 1


def test_plans_are_the_same_if_their_models_are(rows: DataFrame) -> None:
    one, same, other = (
        rows.where(score(by) > 0.5).select(score(by)) for by in map(model, (5, 5, 6))
    )

    assert one.sameSemantics(same)
    assert one.semanticHash() == same.semanticHash()
    assert not one.sameSemantics(other)


@event(key="card")
class Told:
    card: str
    whole: int
    real: float | None
    tags: list[str]


BY = BoostedTrees(["whole", "real"], [("whole", 3, -1, 1), ("real", 0.5, -1, 1)])
HIGH = pytest.approx(1 / (1 + exp(-2)))


def test_a_pipeline_filters_by_a_score_and_passes_dead_letters(
    spark: SparkSession,
) -> None:
    scoring = Pipeline("scoring")
    scored = scoring.read(kafka("told", Told)).derive(risk=BY)
    scoring.write("risky", scored.where("risk > 0.8"), sinks.kafka("risky"))
    scoring.write("all", scored.select("card", "risk"), sinks.kafka("all"))
    with Rig(scoring, spark) as rig:
        good = [Told("a", 4, 1.0, []), Told("b", 3, 1.0, []), Told("c", 4, None, [])]
        rig.feed("told", *good, b"not an event")

        found = dict(rig.rows("all", "card", "risk"))
        assert found == {"a": HIGH, "b": 0.5, "c": None}
        assert rig.rows("risky", "card") == [("a",)]
        assert len(rig.dead_letters()) == 1


@pytest.mark.usefixtures("one_partition")
def test_a_table_has_the_scores_of_its_rows(spark: SparkSession) -> None:
    scoring = Pipeline("scoring")
    rows = scoring.table(kafka("told", Told)).derive(risk=BY).where("risk > 0.4")
    scoring.write("rows", rows.select("card", "risk"), sinks.kafka("rows"))
    with Rig(scoring, spark) as rig:
        rig.feed("told", Told("a", 4, 1.0, []), Told("b", 4, 1.0, []))
        rig.feed("told", Told("a", 3, 0.0, []), Told("c", 3, 1.0, []))

        assert rig.table("rows", "risk") == {"b": (HIGH,), "c": (0.5,)}


def test_a_feature_that_only_spark_knows_to_be_no_number_is_refused(
    spark: SparkSession,
) -> None:
    scoring = Pipeline("scoring")
    told = scoring.read(kafka("told", Told)).derive(real="get(tags, 0)")
    scoring.write("all", told.derive(risk=BY), sinks.kafka("all"))

    with pytest.raises(StepError) as caught, Rig(scoring, spark) as rig:
        rig.feed("told", Told("a", 4, 1.0, ["x"]))

    assert caught.value.slug == "step-refused"
    assert "requires the NUMERIC type" in (caught.value.detail or "")
