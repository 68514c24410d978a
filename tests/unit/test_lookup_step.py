"""A join with a table that cannot work is refused where it is declared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from headrace import (
    Pipeline,
    Stream,
    Table,
    broadcast,
    days,
    event,
    hours,
    kafka,
    known,
    latest,
    minutes,
    settled,
    sinks,
    tumbling,
)
from headrace.plan.changes import KeepTable
from headrace.plan.join_steps import Joined, behind
from headrace.plan.lookup_steps import LookUp
from headrace.plan.steps import walk
from support.harness.refusals import refused


@event(key="payment_id", time="made_at")
class Payment:
    payment_id: str
    user_id: int
    cents: int
    made_at: datetime


@event(key="user_id")
class Profile:
    user_id: int
    city: str


def payments(pipeline: Pipeline | None = None) -> Stream:
    return (pipeline or Pipeline("fraud")).read(kafka("payments", Payment))


def profiles(pipeline: Pipeline | None = None) -> Table:
    return (pipeline or Pipeline("fraud")).table(kafka("profiles", Profile))


def lookup_of(stream: Stream) -> LookUp:
    assert isinstance(stream.step, Joined)
    assert isinstance(stream.step.input, LookUp)
    return stream.step.input


def test_a_result_has_the_columns_of_the_event_and_of_the_row() -> None:
    joined = payments().join("profile", profiles(), on="user_id")

    assert joined.columns == ["payment_id", "user_id", "cents", "made_at", "city"]
    assert (joined.step.key, joined.step.time) == ("payment_id", "made_at")
    assert not joined.step.columns["city"].required


def test_with_inner_the_row_is_always_there() -> None:
    joined = payments().join("profile", profiles(), on="user_id", kind="inner")

    assert joined.step.columns["city"].required
    assert not lookup_of(joined).terms["tells_missing"]


def test_unless_told_otherwise_the_answer_is_that_of_the_events_own_time() -> None:
    terms = lookup_of(payments().join("profile", profiles(), on="user_id")).terms

    assert (terms["when"], terms["missing"]) == ("settled", "null")
    assert terms["retention_us"] == 3_600_000_000


@pytest.mark.parametrize(
    ("lookup", "later"),
    [
        (settled(), timedelta(microseconds=1)),
        (known(), None),
        (latest(), None),
        (
            known(missing="wait", grace=minutes(3)),
            minutes(3) + timedelta(microseconds=1),
        ),
    ],
)
def test_results_come_later_only_where_events_wait(
    lookup: Any, later: timedelta | None
) -> None:
    joined = payments().join("profile", profiles(), on="user_id", lookup=lookup)

    assert behind(joined.step) == later


def test_the_changes_of_a_table_that_was_cut_come_one_by_one() -> None:
    bank = Pipeline("bank")
    table = profiles(bank)
    rich = table.where("city <> ''").rename(city="town")
    joined = payments(bank).join("profile", rich, on="user_id")
    bank.write("profiles", table, sinks.kafka("out"))
    bank.write("joined", joined, sinks.kafka("joined"))

    kept = [s for s in walk(lookup_of(joined)) if isinstance(s, KeepTable)]

    assert [(step.name, step.every) for step in kept] == [("profile-rows", True)]
    assert joined.columns[-1] == "town"


def test_an_explanation_tells_which_row_answers() -> None:
    bank = Pipeline("bank")
    joined = payments(bank).join(
        "profile", profiles(bank), on="user_id", lookup=settled(missing="side-output")
    )
    bank.write("joined", joined, sinks.kafka("joined"))
    bank.write("missing", joined.missing, sinks.kafka("missing"))

    told = bank.explain()
    step = next(step for step in told["steps"] if step["verb"] == "join")

    assert step["does"] == (
        '"profile", left on user_id, as of the event\'s time, once that is settled; '
        "without a row side-output"
    )
    assert step["engine"] == "operator"
    assert step["late"].startswith("answered for 1:00:00, then go to the side output")
    assert told["evaluations"] == 1


def test_a_table_that_every_task_holds_tells_its_net_changes() -> None:
    bank = Pipeline("bank")
    timeless = payments(bank).select("user_id", "cents")
    lookup = broadcast(missing="side-output", most_megabytes=8)
    joined = timeless.join("profile", profiles(bank), on="user_id", lookup=lookup)
    bank.write("joined", joined, sinks.kafka("joined"))

    step = lookup_of(joined)
    kept = [s for s in walk(step) if isinstance(s, KeepTable)]
    told = next(s for s in bank.explain()["steps"] if s["verb"] == "join")

    assert [(step.name, step.every) for step in kept] == [("profile-rows", False)]
    assert (step.terms["when"], step.terms["most_bytes"]) == ("broadcast", 8 * 2**20)
    assert told["state"] == "none; every task holds the table's rows"
    assert told["late"] == "none: no time is looked at"
    assert joined.missing.columns == ["user_id", "cents"]


def panes() -> Stream:
    return payments().window(
        "w", tumbling(minutes(1)), by="user_id", n="count(*)", late="drop"
    )


def corrected() -> Stream:
    lookup = known(missing="null-then-correct", grace=minutes(1))
    return payments().join("profile", profiles(), on="user_id", lookup=lookup)


def written_without_key() -> None:
    stream = corrected()
    shop = Pipeline("shop")
    shop.write("out", stream.select("cents"), sinks.kafka("out"))


@pytest.mark.parametrize(
    ("slug", "declare"),
    [
        (
            "join-option-unfit",
            lambda: payments().join("j", profiles(), on="user_id", within=minutes(1)),
        ),
        (
            "join-option-unfit",
            lambda: payments().join("j", payments(), on="user_id", lookup=settled()),
        ),
        (
            "join-key-not-primary",
            lambda: payments().join("j", profiles(), on={"payment_id": "city"}),
        ),
        (
            "join-key-not-primary",
            lambda: payments().join(
                "j",
                profiles().select("city", number="user_id + 1"),
                on={"cents": "number"},
            ),
        ),
        (
            "key-types-differ",
            lambda: payments().join("j", profiles(), on={"payment_id": "user_id"}),
        ),
        ("column-unknown", lambda: payments().join("j", profiles(), on="city")),
        (
            "column-taken",
            lambda: payments().derive(city="'x'").join("j", profiles(), on="user_id"),
        ),
        (
            "option-unknown",
            lambda: payments().join("j", profiles(), on="user_id", kind="full"),
        ),
        (
            "option-unknown",
            lambda: payments().join(
                "j", profiles(), on="user_id", lookup=settled(missing="wait")
            ),
        ),
        (
            "retention-too-short",
            lambda: payments().join(
                "j",
                profiles(),
                on="user_id",
                lookup=known(missing="wait", grace=days(1)),
            ),
        ),
        (
            "duration-negative",
            lambda: payments().join(
                "j", profiles(), on="user_id", lookup=settled(retention=-hours(1))
            ),
        ),
        (
            "join-needs-time",
            lambda: (
                payments()
                .select("user_id", "cents")
                .join("j", profiles(), on="user_id")
            ),
        ),
        (
            "missing-rows-absent",
            lambda: payments().join("j", profiles(), on="user_id").missing,
        ),
        ("missing-rows-absent", lambda: payments().missing),
        (
            "late-events-absent",
            lambda: (
                payments().join("j", profiles(), on="user_id", lookup=latest()).late
            ),
        ),
        (
            "count-below-one",
            lambda: payments().join(
                "j", profiles(), on="user_id", lookup=broadcast(most_megabytes=0)
            ),
        ),
        (
            "option-unknown",
            lambda: payments().join(
                "j", profiles(), on="user_id", lookup=broadcast(missing="wait")
            ),
        ),
        (
            "join-after-window",
            lambda: panes().join("j", profiles(), on="user_id", lookup=broadcast()),
        ),
        (
            "corrections-followed",
            lambda: corrected().window("w", tumbling(minutes(1)), n="count(*)"),
        ),
        (
            "corrections-followed",
            lambda: corrected().dedupe("d", by="payment_id", within=minutes(1)),
        ),
        ("sink-not-keyed", written_without_key),
    ],
)
def test_what_cannot_be_looked_up_is_refused_by_name(
    slug: str, declare: Callable[[], Any]
) -> None:
    with refused(slug):
        declare()
