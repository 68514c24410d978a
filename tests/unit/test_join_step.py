"""A join of two streams that cannot work is refused where it is declared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from headrace import (
    Pipeline,
    Stream,
    between,
    event,
    kafka,
    minutes,
    seconds,
    sinks,
    tumbling,
    watermarks,
)
from headrace.plan.explain import explain_text
from headrace.plan.join_steps import Join, Joined, behind
from headrace.plan.window_steps import Panes
from support.harness.refusals import refused

SOON = between(seconds(0), minutes(10))


@event(key="ad", time="shown_at")
class Impression:
    ad: str
    place: str
    share: float
    shown_at: datetime


@event(key="user", time="clicked_at")
class Click:
    ad: str
    ad_number: int
    user: str
    clicked_at: datetime


@event(key="ad")
class Timeless:
    ad: str


def impressions(pipeline: Pipeline | None = None) -> Stream:
    return (pipeline or Pipeline("ads")).read(kafka("impressions", Impression))


def clicks(pipeline: Pipeline | None = None) -> Stream:
    return (pipeline or Pipeline("ads")).read(kafka("clicks", Click))


def timeless() -> Stream:
    return Pipeline("ads").read(kafka("timeless", Timeless))


def join_of(stream: Stream) -> Join:
    assert isinstance(stream.step, Joined)
    assert isinstance(stream.step.input, Join)
    return stream.step.input


def test_a_result_has_the_columns_of_both_sides_and_the_key_once() -> None:
    joined = impressions().join("clicked", clicks(), on="ad", within=SOON)

    assert joined.columns == [
        "ad",
        "place",
        "share",
        "shown_at",
        "ad_number",
        "user",
        "clicked_at",
    ]
    assert (joined.step.key, joined.step.time) == ("ad", "shown_at")
    assert all(field.required for field in joined.step.columns)


@pytest.mark.parametrize(
    ("kind", "required", "key", "time"),
    [
        ("left", {"ad", "place", "share", "shown_at"}, "ad", "shown_at"),
        ("right", {"ad", "ad_number", "user", "clicked_at"}, "user", "clicked_at"),
        ("full", {"ad"}, None, None),
        ("semi", {"ad", "place", "share", "shown_at"}, "ad", "shown_at"),
    ],
)
def test_what_may_be_absent_may_be_null(
    kind: str, required: set[str], key: str | None, time: str | None
) -> None:
    step = impressions().join("j", clicks(), on="ad", within=SOON, kind=kind).step

    assert {field.name for field in step.columns if field.required} == required
    assert (step.key, step.time) == (key, time)


def test_keys_of_other_names_are_both_there() -> None:
    on = {"place": "ad"}
    joined = impressions().join("j", clicks(), on=on, within=SOON, prefix="c_")

    assert joined.columns[4:] == ["c_ad", "c_ad_number", "c_user", "c_clicked_at"]


def test_a_duration_alone_is_either_way() -> None:
    joined = impressions().join("j", clicks(), on="ad", within=minutes(10))

    assert join_of(joined).within == between(-minutes(10), minutes(10))


@pytest.mark.parametrize(
    ("kind", "least", "most", "waits"),
    [
        ("left", seconds(0), minutes(10), minutes(10)),
        ("right", seconds(0), minutes(10), minutes(0)),
        ("right", -minutes(3), minutes(10), minutes(3)),
        ("inner", -minutes(3), -minutes(1), minutes(0)),
    ],
)
def test_results_come_as_much_later_as_their_rows_may_wait(
    kind: str, least: timedelta, most: timedelta, waits: timedelta
) -> None:
    within = between(least, most)
    joined = impressions().join("j", clicks(), on="ad", within=within, kind=kind)

    assert behind(joined.step) == waits + timedelta(microseconds=1)


def test_delays_of_joins_add_up_and_a_window_follows_them() -> None:
    one = impressions().join("one", clicks(), on="ad", within=SOON)
    other = clicks().select("ad", again="clicked_at")
    two = one.join("two", other, on="ad", within=minutes(5))
    window = two.window("w", tumbling(minutes(1)), by="ad", n="count(*)").step

    assert isinstance(window, Panes)
    assert join_of(one).terms["behind_us"] is None
    assert join_of(two).terms["behind_us"] == 600_000_001
    assert window.input.terms["behind_us"] == 900_000_002


def test_an_explanation_tells_state_late_rows_and_engine() -> None:
    ads = Pipeline("ads")
    joined = impressions(ads).join("clicked", clicks(ads), on="ad", within=SOON)
    ads.write("clicked", joined, sinks.kafka("clicked"))
    ads.write("late", joined.late_right, sinks.kafka("late"))

    told = ads.explain()
    step = told["steps"][2]

    assert (step["verb"], step["engine"], step["from"]) == ("join", "operator", [1, 2])
    assert step["does"] == '"clicked", inner on ad, between 0:00:00 and 0:10:00 after'
    assert step["late"] == "go to the side output"
    assert told["evaluations"] == 1
    assert 'right rows too late for "clicked"' in explain_text(told)


def engine(**changed: Any) -> str:
    """Give who runs a join that Spark could run, but for what is changed."""
    ads = Pipeline("ads")
    strategy = changed.pop("watermark", watermarks.by_partition(seconds(10)))
    right = ads.read(kafka("clicks", Click), watermark=strategy)
    if changed.pop("once", False):
        right = right.dedupe("once", by="user", within=minutes(1))
    if changed.pop("changed", False):
        right = right.transform(lambda df: df)
    counted = changed.pop("counted", False)
    given: dict[str, Any] = {"on": "ad", "within": SOON, "late": "drop"}
    joined = impressions(ads).join("clicked", right, **given | changed)
    ads.write("clicked", joined.where("place <> ''"), sinks.kafka("clicked"))
    if counted:
        window = joined.window("w", tumbling(minutes(1)), by="ad", n="count(*)")
        ads.write("counted", window, sinks.kafka("counted"))
    steps = ads.explain()["steps"]
    engine: str = next(step["engine"] for step in steps if step["verb"] == "join")
    return engine


def test_spark_itself_takes_inner_joins_that_drop_late_rows() -> None:
    assert engine() == "native"
    assert engine(on={"place": "user"}, prefix="c_") == "native"
    for strategy in watermarks.lagging(seconds(10)), watermarks.arrival():
        assert engine(watermark=strategy) == "native"


@pytest.mark.parametrize(
    "changed",
    [
        {"late": "side-output"},
        {"kind": "left"},
        {"kind": "semi"},
        {"on": {"ad": "ad", "shown_at": "clicked_at"}, "prefix": "c_"},
        {"watermark": watermarks.observed()},
        {"once": True},
        {"changed": True},
        {"counted": True},
    ],
    ids=repr,
)
def test_the_operator_takes_all_others(changed: dict[str, Any]) -> None:
    assert engine(**changed) == "operator"


def test_an_explanation_says_what_sparks_own_join_does_not_count() -> None:
    ads = Pipeline("ads")
    joined = impressions(ads).join(
        "clicked", clicks(ads), on="ad", within=SOON, late="drop"
    )
    ads.write("clicked", joined, sinks.kafka("clicked"))

    told = explain_text(ads.explain())

    assert "native; state: the rows of both sides" in told
    assert "not counted: which rows have found a partner" in told


Refused = Callable[[], Any]


def panes() -> Stream:
    return impressions().window("w", tumbling(minutes(1)), by="ad", n="count(*)")


def late() -> Stream:
    return impressions().join("first", clicks(), on="ad", within=SOON).late


@pytest.mark.parametrize(
    ("slug", "declare"),
    [
        ("join-without-bound", lambda: impressions().join("j", clicks(), on="ad")),
        (
            "interval-reversed",
            lambda: impressions().join(
                "j", clicks(), on="ad", within=between(minutes(2), minutes(1))
            ),
        ),
        (
            "interval-reversed",
            lambda: impressions().join("j", clicks(), on="ad", within=-minutes(1)),
        ),
        (
            "join-needs-key",
            lambda: impressions().join("j", clicks(), on={}, within=SOON),
        ),
        (
            "key-types-differ",
            lambda: impressions().join(
                "j", clicks(), on={"ad": "ad_number"}, within=SOON
            ),
        ),
        (
            "key-type-unsupported",
            lambda: impressions().join("j", clicks(), on={"share": "ad"}, within=SOON),
        ),
        (
            "column-unknown",
            lambda: impressions().join("j", clicks(), on="user", within=SOON),
        ),
        (
            "column-taken",
            lambda: impressions().join(
                "j", impressions(), on={"ad": "place"}, within=SOON
            ),
        ),
        (
            "join-needs-time",
            lambda: impressions().join("j", timeless(), on="ad", within=SOON),
        ),
        (
            "join-needs-time",
            lambda: (
                impressions()
                .join("j", clicks(), on="ad", within=SOON, kind="full")
                .join("k", clicks(), on="ad", within=SOON, prefix="k_")
            ),
        ),
        (
            "join-after-window",
            lambda: panes().join("j", clicks(), on="ad", within=SOON),
        ),
        (
            "late-rows-followed",
            lambda: clicks().join("j", late(), on="ad", within=SOON),
        ),
        (
            "late-rows-followed",
            lambda: late().window("w", tumbling(minutes(1)), n="count(*)"),
        ),
        (
            "option-unknown",
            lambda: impressions().join("j", clicks(), on="ad", within=SOON, kind="x"),
        ),
        (
            "option-unknown",
            lambda: impressions().join("j", clicks(), on="ad", within=SOON, late="x"),
        ),
        (
            "duration-unreadable",
            lambda: impressions().join(
                "j",
                clicks(),
                on="ad",
                within=5,  # type: ignore[arg-type]
            ),
        ),
        (
            "late-events-absent",
            lambda: (
                impressions()
                .join("j", clicks(), on="ad", within=SOON, late="drop")
                .late_right
            ),
        ),
        ("late-events-absent", lambda: impressions().late_right),
        (
            "hot-keys-unsupported",
            lambda: (
                impressions()
                .join("j", clicks(), on="ad", within=SOON)
                .window("w", tumbling(minutes(1)), hot_keys="spread", n="count(*)")
            ),
        ),
    ],
)
def test_what_cannot_be_joined_is_refused_by_name(slug: str, declare: Refused) -> None:
    with refused(slug):
        declare()
