"""Joins of two streams as steps among others, in whole pipelines."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from headrace import (
    Pipeline,
    Stream,
    between,
    event,
    hours,
    kafka,
    minutes,
    sinks,
    tumbling,
)
from headrace.testing import Rig

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
SOON = between(minutes(0), minutes(10))

pytestmark = pytest.mark.usefixtures("one_partition")


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


@event(key="ad", time="bought_at")
class Purchase:
    ad: str
    bought_at: datetime


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


def streams(pipeline: Pipeline) -> tuple[Stream, Stream]:
    return (
        pipeline.read(kafka("impressions", Impression), out_of_order=minutes(30)),
        pipeline.read(kafka("clicks", Click), out_of_order=minutes(30)),
    )


def test_an_impression_meets_its_click_or_is_told_without_one(
    spark: SparkSession,
) -> None:
    ads = Pipeline("ads")
    impressions, clicks = streams(ads)
    clicked = impressions.join("clicked", clicks, on="ad", within=SOON, kind="left")
    ads.write("clicked", clicked, sinks.kafka("clicked"))
    ads.write("late", clicked.late, sinks.kafka("late"))
    ads.write("late-clicks", clicked.late_right, sinks.kafka("late-clicks"))
    with Rig(ads, spark) as rig:
        rig.feed("clicks", Click("a", "ann", at(5)), Click("a", "bob", at(11)), b"{")
        rig.feed(
            "impressions",
            Impression("a", "top", at(0)),
            Impression("a", "foot", at(6)),
            Impression("b", "top", at(0)),
        )

        assert rig.rows("clicked", "place", "user") == [
            ("top", "ann"),
            ("foot", "bob"),
        ]

        rig.crash()
        rig.advance(at(10))
        assert rig.rows("clicked", "ad", "user")[2:] == []

        rig.advance(at(11))
        assert rig.rows("clicked", "ad", "place", "user")[2:] == [("b", "top", None)]

        rig.feed("impressions", Impression("c", "top", at(10)))
        rig.feed("clicks", Click("c", "eve", at(1)), Click("c", "dan", at(12)))
        rig.restart()

        assert rig.rows("late", "ad", "place", "late_by_ms") == [("c", "top", 60_000)]
        assert rig.rows("late-clicks", "user", "late_by_ms") == [("eve", 600_000)]
        assert len(rig.rows("clicked")) == 3
        assert len(rig.dead_letters()) == 1


def test_a_stream_can_be_joined_with_itself(spark: SparkSession) -> None:
    ads = Pipeline("ads")
    _, clicks = streams(ads)
    pairs = clicks.join(
        "again", clicks, on="ad", within=between(minutes(1), minutes(9)), prefix="then_"
    )
    ads.write("again", pairs, sinks.kafka("again"))
    with Rig(ads, spark) as rig:
        rig.feed("clicks", Click("a", "ann", at(0)), Click("a", "bob", at(3)), b"{")
        rig.feed("clicks", Click("a", "eve", at(10)), Click("b", "dan", at(1)))

        assert rig.rows("again", "user", "then_user") == [
            ("ann", "bob"),
            ("bob", "eve"),
        ]
        assert len(rig.dead_letters()) == 1


def generated(seed: int) -> list[tuple[list[Impression], list[Click], list[Purchase]]]:
    """Give events in some batches, each within half an hour of the others' times."""
    chance = random.Random(seed)  # noqa: S311

    def times(begin: int) -> list[tuple[str, datetime]]:
        many = range(chance.randint(10, 25))
        return [
            (f"ad{chance.randrange(12)}", at(begin + chance.randrange(0, 3000) / 100))
            for _ in many
        ]

    return [
        (
            [Impression(ad, f"p{n}", t) for n, (ad, t) in enumerate(times(begin))],
            [Click(ad, f"u{n}", t) for n, (ad, t) in enumerate(times(begin))],
            [Purchase(ad, t) for ad, t in times(begin)],
        )
        for begin in (0, 20)
    ]


def expected_counts(
    batches: list[tuple[list[Impression], list[Click], list[Purchase]]],
) -> dict[tuple[str, str], tuple[int, int]]:
    """Count the results of each window by their definition."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    clicks = [click for _, several, _ in batches for click in several]
    purchases = [purchase for _, _, several in batches for purchase in several]
    for shown in (one for several, _, _ in batches for one in several):
        after = [c.clicked_at - shown.shown_at for c in clicks if c.ad == shown.ad]
        near = [p.bought_at - shown.shown_at for p in purchases if p.ad == shown.ad]
        clicked = sum(minutes(0) <= time <= minutes(10) for time in after)
        bought = sum(-minutes(7) <= time <= minutes(7) for time in near)
        begin = shown.shown_at - (shown.shown_at - START) % minutes(5)
        place = (shown.ad, begin.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
        rows, sold = found.get(place, (0, 0))
        rows += max(1, clicked) * max(1, bought)
        found[place] = (rows, sold + max(1, clicked) * bought)
    return found


def test_a_window_behind_two_joins_counts_every_result(spark: SparkSession) -> None:
    ads = Pipeline("ads")
    impressions, clicks = streams(ads)
    purchases = ads.read(kafka("purchases", Purchase), out_of_order=minutes(30))
    clicked = impressions.join("clicked", clicks, on="ad", within=SOON, kind="left")
    bought = clicked.join("bought", purchases, on="ad", within=minutes(7), kind="left")
    counted = bought.window(
        "counted",
        tumbling(minutes(5)),
        by="ad",
        rows="count(*)",
        sold="count(bought_at)",
    )
    ads.write("counted", counted, sinks.kafka("counted"))
    ads.write("late", counted.late, sinks.kafka("late"))
    batches = generated(7)
    with Rig(ads, spark) as rig:
        for number, (shown, clicked_on, sold) in enumerate(batches):
            rig.feed("impressions", *shown)
            rig.feed("purchases", *sold)
            rig.feed("clicks", *clicked_on)
            if number == 1:
                rig.crash()
        rig.advance(at(0) + hours(5))

        assert rig.rows("late") == []
        told = rig.rows("counted", "ad", "window_start", "rows", "sold")
    assert len(told) == len({row[:2] for row in told}), "a window has fired twice"
    assert {row[:2]: row[2:] for row in told} == expected_counts(batches)
