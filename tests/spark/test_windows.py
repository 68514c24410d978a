"""Windows in real streaming queries, beside the model in plain Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from headrace.runtime.failures import name_failure
from support.cases.window_cases import (
    KINDS,
    PLANS,
    SPREADABLE,
    START,
    TICK,
    History,
    corrected,
    histories,
    narrow,
    seeded,
    spread,
)
from support.cases.window_soak import again
from support.cases.window_trial import Trial
from support.cases.window_verdict import try_history
from support.models.window_model_terms import Event, Windowing

CASES = 75


@pytest.mark.parametrize("seed", range(len(PLANS)))
@pytest.mark.parametrize("kind", KINDS)
def test_spark_agrees_with_the_model(
    spark: SparkSession, tmp_path: Path, kind: str, seed: int
) -> None:
    try_history(spark, tmp_path, seeded(seed, kind, CASES), again(kind, seed))


@pytest.mark.parametrize("kind", ["tumbling", "hopping"])
def test_spark_agrees_with_the_model_where_a_key_has_many_windows_open(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    try_history(spark, tmp_path, narrow(0, kind, CASES), f"narrow {kind}")


@pytest.mark.parametrize("seed", range(3))
def test_spark_agrees_with_the_model_where_many_keys_are_corrected_together(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    history = corrected(seed, "tumbling", CASES)
    assert history.step.fires_by_window

    try_history(spark, tmp_path, history, f"corrected tumbling, seed {seed}")


def test_state_of_windows_that_fire_once_is_refused_by_those_that_are_corrected(
    spark: SparkSession, tmp_path: Path
) -> None:
    once = replace(seeded(0, "tumbling", 1), then=["batch"] * 10)
    changed = replace(
        once,
        step=replace(once.step, late="refire", allowed=5 * TICK),
        clocks=[*once.clocks, *once.clocks],
        rows=[*once.rows, *once.rows],
        dead=[*once.dead, *once.dead],
        then=[*once.then, *once.then],
    )
    Trial(spark, tmp_path, once).run()

    with pytest.raises(StreamingQueryException) as refused:
        Trial(spark, tmp_path, changed).run()

    assert name_failure(str(refused.value), "shop").slug == "state-differs"


def test_windows_that_are_to_be_corrected_for_longer_are_not_forgotten_sooner(
    spark: SparkSession, tmp_path: Path
) -> None:
    step = Windowing("tumbling", 5 * TICK, late="refire", allowed=5 * TICK)
    first, late = (Event(START + at * TICK, 1, "a", offset=at) for at in (1, 2))
    # The timer of before, for second 10, fires under the watermark of second 12.
    seconds = (7, 12, 13, 14)
    history = History(
        step=step,
        clocks=[START // 1000 + second * 1000 for second in seconds],
        rows=[{0: [first]}, {}, {}, {0: [late]}],
        dead=[0] * 4,
        then=["batch"] * 4,
    )
    part = replace(history, clocks=history.clocks[:1], rows=history.rows[:1])
    Trial(spark, tmp_path, replace(part, dead=[0], then=["batch"])).run()

    longer = replace(history, step=replace(step, allowed=20 * TICK))
    trial = Trial(spark, tmp_path, longer)
    trial.run()

    panes = [pane for given in trial.given.values() for pane in given.panes[0]]
    assert [(pane.pane, pane.pane_number, pane.values) for pane in panes] == [
        ("late", 2, (2,))
    ]


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
