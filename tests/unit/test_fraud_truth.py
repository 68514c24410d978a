"""Alerts are judged by what was fraud, and by when it was known."""

from __future__ import annotations

from datetime import timedelta

import pytest
from truth import Alert, Case, judge

from support.cases.fraud_world import NOON, paid


def alert(identity: str, seconds: float, kind: str | None = None) -> Alert:
    return Alert(identity, NOON + timedelta(seconds=seconds), kind)


TRAVEL = Case("travel", "a", (paid(0, 100, card="a"), paid(9, 200, card="a")))
DRAIN = Case(
    "drain",
    "b",
    (
        paid(0, 10, card="b"),
        paid(1, 500, card="b", declined=True),
        paid(2, 1000, card="b"),
    ),
)


def test_a_case_knows_when_it_was_and_what_it_cost() -> None:
    assert DRAIN.transaction_ids == ("b@0", "b@1", "b@2")
    assert (DRAIN.first_at, DRAIN.last_at) == (NOON, NOON + timedelta(seconds=2))
    assert DRAIN.cents == 1010


def test_a_case_is_found_by_any_of_its_transactions() -> None:
    verdict = judge([TRAVEL, DRAIN], [alert("a@9", 10)])

    assert (verdict.everything.found, verdict.everything.recall) == (1, 0.5)
    assert verdict.by_kind["travel"].recall == 1
    assert verdict.by_kind["drain"].recall == 0


def test_an_alert_of_another_transaction_is_wrong() -> None:
    verdict = judge([TRAVEL], [alert("a@0", 1), alert("a@9", 10), alert("c@5", 6)])

    assert verdict.everything.precision == pytest.approx(2 / 3)


def test_a_wrong_alert_counts_against_the_kind_that_it_names() -> None:
    alerts = [alert("a@9", 10), alert("c@5", 6, "drain")]
    told = judge([TRAVEL, DRAIN], alerts).by_kind

    assert (told["travel"].precision, told["drain"].precision) == (1, 0)


def test_a_wrong_alert_that_names_no_kind_counts_against_all() -> None:
    told = judge([TRAVEL, DRAIN], [alert("a@9", 10), alert("c@5", 6)]).by_kind

    assert (told["travel"].precision, told["drain"].precision) == (0.5, 0)


@pytest.mark.parametrize(
    ("seconds", "lost"), [(1, 100), (8.999, 100), (9, 300), (60, 300)]
)
def test_money_is_lost_until_the_first_alert(seconds: float, lost: int) -> None:
    told = judge([TRAVEL], [alert("a@9", 60), alert("a@0", seconds)]).everything

    assert (told.lost_cents, told.saved_cents) == (lost, 300 - lost)


def test_of_several_alerts_of_a_transaction_the_first_counts() -> None:
    told = judge([TRAVEL], [alert("a@0", 60), alert("a@0", 1), alert("a@0", 9)])

    assert told.everything.lost_cents == 100
    assert told.everything.alerts == told.everything.right == 1


def test_a_case_that_nobody_finds_is_lost_whole() -> None:
    told = judge([TRAVEL, DRAIN], []).everything

    assert (told.lost_cents, told.saved_cents) == (1310, 0)
    assert (told.precision, told.recall) == (1, 0)


def test_without_cases_nothing_is_missed() -> None:
    assert judge([], []).everything.recall == 1
