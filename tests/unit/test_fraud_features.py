"""The features of a transaction, on examples written by hand."""

from __future__ import annotations

from datetime import timedelta

import pytest
from features import Features, features
from people import Change, Person, Profiles
from transactions import Profile

from support.cases.fraud_world import NOON, arrived, paid, somebody


def last_of(*transactions: object, profiles: Profiles | None = None) -> Features:
    told = features(arrived(*transactions), profiles or somebody())  # type: ignore[arg-type]
    return told[-1][1]


def test_a_transaction_alone_is_told_by_itself() -> None:
    told = last_of(paid(0, 2500, country="FR"), profiles=somebody(tier="high"))

    assert told == Features(
        payments=1,
        spent=2500,
        others_spent=0,
        countries=1,
        declines=0,
        tiny=0,
        cents=2500,
        times_usual=2.5,
        abroad=1,
        tier=2,
    )


def test_the_five_minutes_before_count_and_what_is_five_minutes_old_does_not() -> None:
    assert last_of(paid(0), paid(0.001), paid(300)).payments == 2
    assert last_of(paid(0), paid(299.999)).payments == 2


def test_a_declined_charge_is_a_payment_and_spends_nothing() -> None:
    told = last_of(paid(0, 700), paid(1, 400, declined=True))

    assert (told.payments, told.declines) == (2, 1)
    assert (told.spent, told.others_spent, told.cents) == (700, 700, 400)


def test_what_a_card_spent_is_told_with_and_without_the_transaction() -> None:
    told = last_of(paid(0, 700), paid(1, 400))

    assert (told.spent, told.others_spent) == (1100, 700)


def test_less_than_three_euros_are_tiny() -> None:
    assert last_of(paid(0, 299), paid(1, 300)).tiny == 1


def test_a_country_that_is_five_minutes_old_is_forgotten() -> None:
    assert last_of(paid(0, country="FR"), paid(1)).countries == 2
    assert last_of(paid(0, country="FR"), paid(300)).countries == 1


def test_cards_do_not_know_of_each_other() -> None:
    assert last_of(paid(0, card="a"), paid(1, card="b")).payments == 1


def test_time_orders_transactions_and_not_their_arrival() -> None:
    told = dict(features(arrived(paid(2), paid(1)), somebody()))

    assert [told[paid(1)].payments, told[paid(2)].payments] == [1, 2]


def test_of_the_same_moment_the_first_to_arrive_is_first() -> None:
    one, other = paid(1, transaction_id="z"), paid(1, transaction_id="a")
    told = dict(features(arrived(one, other), somebody()))

    assert [told[one].payments, told[other].payments] == [1, 2]


def test_a_duplicate_is_told_once() -> None:
    assert len(features(arrived(paid(0), paid(0)), somebody())) == 1


@pytest.mark.parametrize(("seconds", "times", "abroad"), [(9.999, 1, 0), (10, 2, 1)])
def test_the_profile_of_the_transaction_s_time_counts(
    seconds: float, times: float, abroad: int
) -> None:
    person = Person(Profile(1, "DE", 1000, "low"), ("c",), 0)
    change = Change(10_000, "moved", Profile(1, "FR", 500, "low"))
    profiles = Profiles([person], [change], NOON + timedelta(0))
    told = last_of(paid(seconds), profiles=profiles)

    assert (told.times_usual, told.abroad) == (times, abroad)
