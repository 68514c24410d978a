"""A join with a remote table that cannot work is refused where it is declared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from headrace import (
    Pipeline,
    Stream,
    asking,
    event,
    kafka,
    minutes,
    remote,
    seconds,
    settled,
    sinks,
    tumbling,
)
from headrace.plan.explain import explain_text
from headrace.plan.states import state_owners
from headrace.runtime.targets import artifact_groups
from support.harness.refusals import refused


@event(key="payment_id", time="made_at")
class Payment:
    payment_id: str
    user_id: int
    made_at: datetime


@event(key="user_id")
class Profile:
    user_id: int
    city: str


@event(key="rate")
class Rate:
    rate: Decimal


@event()
class Keyless:
    user_id: int


PROFILES = remote.postgres("bank.profiles", Profile, database="bank")


def payments(pipeline: Pipeline | None = None) -> Stream:
    return (pipeline or Pipeline("bank")).read(kafka("payments", Payment))


def written(delivery: str, *, lanes: int = 1, **asked: Any) -> Pipeline:
    bank = Pipeline("bank", lanes=lanes)
    told = payments(bank).join("p", PROFILES, on="user_id", lookup=asking(**asked))
    bank.write("told", told, sinks.kafka("told"), delivery=delivery)
    return bank


def test_a_remote_table_is_asked_and_keeps_no_state() -> None:
    bank = written("exactly-once", repeatable=False, missing="side-output")

    told = bank.explain()
    remote_rows, join = told["steps"][1:]

    assert remote_rows["does"] == (
        "table bank.profiles of database bank, asked by user_id"
    )
    assert join["from"] == [1, 2]
    assert join["state"] == (
        "none; each process keeps up to 100000 answers by user_id for 0:01:00"
    )
    assert "late events: none: no time is looked at" in explain_text(told)
    assert state_owners(bank.outputs) == []
    assert artifact_groups(bank.outputs) == ["spark-postgres"]


def test_a_result_has_the_columns_of_both_and_the_key_once() -> None:
    told = payments().join("p", PROFILES, on="user_id")

    assert told.columns == ["payment_id", "user_id", "made_at", "city"]
    assert not told.step.columns["city"].required


def test_who_repeats_events_anyway_may_ask_anew() -> None:
    assert written("at-least-once", lanes=2).outputs


@pytest.mark.parametrize("given", [{}, {"repeatable": False, "lanes": 2}], ids=repr)
def test_answers_that_may_differ_are_not_written_exactly_once(
    given: dict[str, Any],
) -> None:
    with refused("answers-not-repeatable"):
        written("exactly-once", **given)


@pytest.mark.parametrize(
    ("slug", "declare"),
    [
        ("table-needs-key", lambda: remote.postgres("t", Keyless)),
        ("column-unknown", lambda: remote.postgres("t", Profile, key="user")),
        ("key-type-unsupported", lambda: remote.redis("rates", Rate)),
        ("table-name-refused", lambda: remote.postgres("no table", Profile)),
        ("target-name-refused", lambda: remote.redis("no keys", Profile)),
        ("option-unknown", lambda: remote.redis("keys", Profile, as_="text")),
        (
            "join-option-unfit",
            lambda: payments().join("p", PROFILES, on="user_id", lookup=settled()),
        ),
        (
            "join-option-unfit",
            lambda: payments().join(
                "p",
                Pipeline("bank").table(kafka("profiles", Profile)),
                on="user_id",
                lookup=asking(),
            ),
        ),
        (
            "join-option-unfit",
            lambda: payments().join("p", PROFILES, on="user_id", within=minutes(1)),
        ),
        (
            "join-key-not-primary",
            lambda: payments().join("p", PROFILES, on={"payment_id": "city"}),
        ),
        (
            "key-types-differ",
            lambda: payments().join("p", PROFILES, on={"payment_id": "user_id"}),
        ),
        (
            "count-below-one",
            lambda: payments().join(
                "p", PROFILES, on="user_id", lookup=asking(cached=0)
            ),
        ),
        (
            "duration-not-positive",
            lambda: payments().join(
                "p", PROFILES, on="user_id", lookup=asking(timeout=seconds(0))
            ),
        ),
        (
            "duration-negative",
            lambda: payments().join(
                "p", PROFILES, on="user_id", lookup=asking(fresh=-seconds(1))
            ),
        ),
        (
            "option-unknown",
            lambda: payments().join(
                "p", PROFILES, on="user_id", lookup=asking(missing="wait")
            ),
        ),
        (
            "join-after-window",
            lambda: (
                payments()
                .window("w", tumbling(minutes(1)), by="user_id", n="count(*)")
                .join("p", PROFILES, on="user_id")
            ),
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(
    slug: str, declare: Callable[[], Any]
) -> None:
    with refused(slug):
        declare()
