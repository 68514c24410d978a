"""Joins of Spark's own: beside the model in plain Python, and how they are read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, event, kafka, minutes, seconds, sinks, watermarks
from headrace.testing import Rig
from support.cases.join_cases import INTERVALS, History, seeded
from support.cases.join_trial import try_history

if TYPE_CHECKING:
    from headrace.windows.watermarks import Strategy

CASES = 200
START = datetime(2026, 3, 1, 10, tzinfo=UTC)


@event(key="ad", time="shown_at")
class Impression:
    ad: str
    place: str
    shown_at: datetime


@event(key="ad", time="clicked_at")
class Click:
    ad: str
    user: str
    clicked_at: datetime


def shown(minute: float, ad: str = "a") -> Impression:
    return Impression(ad, f"p{minute}", START + timedelta(minutes=minute))


def click(minute: float, ad: str = "a") -> Click:
    return Click(ad, f"u{minute}", START + timedelta(minutes=minute))


def dropping(seed: int) -> History:
    """Give a history of an inner join that drops late rows."""
    history = seeded(seed, "inner", CASES)
    return replace(history, step=replace(history.step, late="drop"))


def ads(watermark: Strategy) -> Pipeline:
    """Give a pipeline whose join Spark runs."""
    made = Pipeline("ads")
    impressions = made.read(kafka("impressions", Impression), watermark=watermark)
    clicks = made.read(kafka("clicks", Click), watermark=watermark)
    pairs = impressions.join("pairs", clicks, on="ad", within=minutes(10), late="drop")
    made.write("pairs", pairs, sinks.kafka("pairs"))
    made.write("first", pairs.where("user = 'u1'"), sinks.kafka("first"))
    assert made.explain()["steps"][2]["engine"] == "native"
    return made


def counts(rig: Rig) -> tuple[int, ...]:
    """Give in, on time, late, dead letters and results of the first batch of a run."""
    assert rig._query is not None
    told = rig._query.recentProgress[0]["observedMetrics"]["join.pairs"]
    names = ("in", "on_time", "late", "dead_letters", "results")
    return tuple(told[name] for name in names)


def readings(rig: Rig) -> int:
    """Give how many rows the first batch of the last run has read from topics."""
    assert rig._query is not None
    return sum(
        source["numInputRows"]
        for source in rig._query.recentProgress[0]["sources"]
        if not source["description"].startswith("clock of ")
    )


@pytest.mark.parametrize("seed", range(2))
def test_sparks_own_join_agrees_with_the_model(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    trial = try_history(spark, tmp_path, dropping(seed), native=True)

    assert sum(sum(given.results.values()) for given in trial.given.values()) > CASES


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 2 + 2 * len(INTERVALS)))
def test_sparks_own_join_agrees_with_the_model_at_length(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    try_history(spark, tmp_path, dropping(seed), native=True)


@pytest.mark.usefixtures("one_partition")
@pytest.mark.parametrize(
    "watermark",
    [watermarks.lagging(seconds(0)), watermarks.by_partition(seconds(0))],
    ids=lambda strategy: strategy.kind,
)
def test_every_row_is_on_time_or_late_or_a_dead_letter(
    spark: SparkSession, watermark: Strategy
) -> None:
    with Rig(ads(watermark), spark) as rig:
        rig.feed("impressions", shown(0), shown(8), shown(2, "b"), b"torn")
        assert counts(rig) == (4, 3, 0, 1, 0)

        rig.feed("clicks", click(1), click(30), b"{}", b"[]")
        assert counts(rig) == (4, 2, 0, 2, 2)
        assert readings(rig) == 2 * 4
        rig.crash()

        rig.advance(START + timedelta(minutes=30))
        rig.feed("impressions", shown(31))
        assert readings(rig) == 1
        rig.feed("clicks", click(29), click(30))
        assert counts(rig) == (2, 1, 1, 0, 1)
        rig.restart()

        assert sorted(rig.rows("pairs", "place", "user")) == [
            ("p0", "u1"),
            ("p31", "u30"),
            ("p31", "u30"),
            ("p8", "u1"),
        ]
        assert sorted(rig.rows("first", "place")) == [("p0",), ("p8",)]
        letters = [(letter.topic, letter.offset) for letter in rig.dead_letters()]
        assert sorted(letters) == [("clicks", 2), ("clicks", 3), ("impressions", 3)]


@pytest.mark.usefixtures("one_partition")
def test_spark_joins_a_stream_with_itself(spark: SparkSession) -> None:
    made = Pipeline("ads")
    clicks = made.read(kafka("clicks", Click), out_of_order=minutes(30))
    pairs = clicks.join(
        "again", clicks, on="ad", within=minutes(5), late="drop", prefix="then_"
    )
    made.write("again", pairs.where("user < then_user"), sinks.kafka("again"))
    with Rig(made, spark) as rig:
        rig.feed("clicks", click(0), click(3), b"{")
        rig.feed("clicks", click(8), click(1, "b"))

        assert rig.rows("again", "user", "then_user") == [("u0", "u3"), ("u3", "u8")]
        assert len(rig.dead_letters()) == 1
