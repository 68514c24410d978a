"""A dedupe that cannot work is refused where it is declared."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from headrace import (
    Pipeline,
    StepError,
    Stream,
    event,
    hours,
    kafka,
    seconds,
    sinks,
)
from headrace.plan.steps import Dedupe


@event(key="card", time="made_at")
class Payment:
    payment_id: str
    card: str
    share: float
    parts: list[int]
    made_at: datetime


@event(key="card")
class Timeless:
    payment_id: str
    card: str


def payments(pipeline: Pipeline | None = None) -> Stream:
    return (pipeline or Pipeline("shop")).read(kafka("payments", Payment))


def test_columns_key_and_time_stay_as_they_were() -> None:
    before = payments()

    after = before.dedupe("once", by="payment_id", within=hours(1)).step

    assert isinstance(after, Dedupe)
    assert (after.columns, after.key, after.time) == (
        before.step.columns,
        "card",
        "made_at",
    )
    assert after.where.startswith("test_dedupe_step.py:")


def test_an_explanation_shows_the_operator_and_its_state() -> None:
    shop = Pipeline("shop")
    once = payments(shop).dedupe("once", by="payment_id", within=hours(1))
    shop.write("once", once, sinks.kafka("once"))

    told = shop.explain()["steps"][1]

    assert told["verb"] == "dedupe"
    assert told["does"] == '"once", by payment_id within 1:00:00'
    assert told["engine"] == "operator"
    assert told["state"] == (
        "each payment_id until the watermark is 1:00:00 beyond its time"
    )


def refused(stream: Stream, by: str = "payment_id", **changed: object) -> StepError:
    given = {"name": "once", "within": hours(1)} | changed
    with pytest.raises(StepError) as raised:
        stream.dedupe(given["name"], by=by, within=given["within"])  # type: ignore[arg-type]
    assert (raised.value.where or "").startswith("test_dedupe_step.py:")
    return raised.value


def test_a_stream_without_an_event_time_is_refused() -> None:
    timeless = Pipeline("shop").read(kafka("payments", Timeless))

    assert refused(timeless).slug == "dedupe-needs-time"
    assert refused(payments().select("payment_id")).slug == "dedupe-needs-time"


def test_a_renamed_event_time_will_do() -> None:
    renamed = payments().rename(made_at="at")

    assert renamed.dedupe("once", by="payment_id", within=hours(1)).step.time == "at"


def test_an_id_that_is_no_column_is_refused() -> None:
    error = refused(payments(), by="payment")

    assert error.slug == "column-unknown"
    assert error.hint == 'did you mean "payment_id"?'


@pytest.mark.parametrize(
    ("by", "cast"), [("share", "string(share)"), ("parts", "to_json(parts)")]
)
def test_an_id_that_bytes_do_not_identify_is_refused(by: str, cast: str) -> None:
    error = refused(payments(), by=by)

    assert error.slug == "key-type-unsupported"
    assert cast in (error.hint or "")
    mended = payments().derive(mended=cast)
    assert mended.dedupe("once", by="mended", within=hours(1))


@pytest.mark.parametrize("within", [timedelta(0), seconds(-1)])
def test_a_time_that_is_not_above_zero_is_refused(within: timedelta) -> None:
    assert refused(payments(), within=within).slug == "within-not-positive"


@pytest.mark.parametrize("name", ["", "Once", "once more", "1st"])
def test_a_name_that_state_cannot_have_is_refused(name: str) -> None:
    assert refused(payments(), name=name).slug == "name-refused"


def test_two_steps_of_one_name_are_refused() -> None:
    shop = Pipeline("shop")
    one = payments(shop).dedupe("once", by="payment_id", within=hours(1))
    other = payments(shop).dedupe("once", by="card", within=hours(1))
    shop.write("one", one, sinks.kafka("one"))

    with pytest.raises(StepError) as raised:
        shop.write("other", other, sinks.kafka("other"))

    assert raised.value.slug == "step-name-taken"
    assert one.step.where in (raised.value.detail or "")
    assert [output.name for output in shop.outputs] == ["one"]


def test_one_step_may_feed_several_outputs() -> None:
    shop = Pipeline("shop")
    once = payments(shop).dedupe("once", by="payment_id", within=hours(1))
    shop.write("all", once, sinks.kafka("all"))
    shop.write("some", once.where("card = 'a'"), sinks.kafka("some"))

    assert shop.explain()["evaluations"] == 1
