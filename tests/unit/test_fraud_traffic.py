"""The traffic of the fraud example is as it says: the disorder, the fraud, the rest."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import timedelta
from hashlib import sha256
from itertools import islice, pairwise

import people
import pytest
from features import features
from traffic import Traffic
from transactions import Profile, Transaction, avro_writer
from truth import KINDS, Case
from wallets import MOST_PAYMENTS

from support.cases.fraud_world import NOON, a_run

MS = timedelta(milliseconds=1)


def offline_users(traffic: Traffic) -> set[int]:
    return {person.profile.user_id for person in traffic.crowd[traffic.online :]}


def stolen(traffic: Traffic) -> set[str]:
    return {i for case in traffic.cases for i in case.transaction_ids}


def digest(traffic: Traffic, count: int) -> str:
    told, written = sha256(), avro_writer(1)
    for offset_ms, transaction in islice(traffic.arrivals(), count):
        told.update(b"%d %s\n" % (offset_ms, written(transaction)))
    return told.hexdigest()


def test_a_seed_gives_the_same_bytes_on_every_machine() -> None:
    told = digest(Traffic(1, 500, 60, NOON), 5000)

    assert told[:16] == "b001d87ab7594bbd"


def test_another_seed_gives_other_transactions() -> None:
    one, other = Traffic(1, 100, 10, NOON), Traffic(2, 100, 10, NOON)

    assert digest(one, 1000) == digest(Traffic(1, 100, 10, NOON), 1000)
    assert digest(one, 1000) != digest(other, 1000)


def test_there_is_as_much_traffic_as_was_asked_for() -> None:
    _, arrivals = a_run()

    assert 29_700 < len(arrivals) < 30_300


def test_transactions_come_in_order_of_arrival_and_out_of_order_of_time() -> None:
    traffic, arrivals = a_run()
    away = offline_users(traffic)
    made = [t.made_at for _, t in arrivals if t.user_id not in away]
    displaced = sum(later < earlier for earlier, later in pairwise(made))

    assert [ms for ms, _ in arrivals] == sorted(ms for ms, _ in arrivals)
    assert displaced > len(made) / 10


def test_a_transaction_is_under_way_for_300_ms_at_most() -> None:
    traffic, arrivals = a_run()
    away = offline_users(traffic)
    delays = [
        offset_ms - (t.made_at - NOON) // MS
        for offset_ms, t in arrivals
        if t.user_id not in away
    ]

    assert min(delays) >= 0
    assert 250 < max(delays) <= 300


def test_what_an_offline_terminal_has_kept_comes_a_minute_or_two_late() -> None:
    traffic, arrivals = a_run()
    away = offline_users(traffic)
    delays = [o - (t.made_at - NOON) // MS for o, t in arrivals if t.user_id in away]

    assert 0.001 < len(delays) / len(arrivals) < 0.003
    assert min(delays) >= 60_000
    assert max(delays) <= 120_000


def test_who_pays_at_offline_terminals_is_never_near_a_rule() -> None:
    traffic, arrivals = a_run()
    away = offline_users(traffic)
    told = [f for t, f in features(arrivals, traffic.profiles) if t.user_id in away]

    assert told
    assert all(f.countries == 1 and not f.abroad for f in told)
    assert all(f.payments <= MOST_PAYMENTS and f.times_usual <= 6 for f in told)


def test_some_transactions_arrive_twice_and_are_the_same() -> None:
    _, arrivals = a_run()
    seen: defaultdict[str, list[Transaction]] = defaultdict(list)
    for _, transaction in arrivals:
        seen[transaction.transaction_id].append(transaction)
    repeated = [copies for copies in seen.values() if len(copies) > 1]

    assert 0.003 < len(repeated) / len(arrivals) < 0.007
    assert all(len(copies) == 2 and copies[0] == copies[1] for copies in repeated)


def test_each_kind_of_fraud_is_there_at_least_ten_times_in_a_minute() -> None:
    traffic, arrivals = a_run()
    kinds = Counter(case.kind for case in traffic.cases)
    sent = {t.transaction_id for _, t in arrivals}

    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 10
    assert stolen(traffic) <= sent


@pytest.mark.parametrize("kind", KINDS)
def test_cases_are_spread_over_the_run_and_end_within_it(kind: str) -> None:
    traffic, _ = a_run()
    cases = [case for case in traffic.cases if case.kind == kind]
    middles = [(case.first_at - NOON + (case.last_at - NOON)) / 2 for case in cases]
    thirds = Counter(int(middle.total_seconds() / 20) for middle in middles)

    assert min(case.first_at for case in cases) >= NOON
    assert max(case.last_at for case in cases) < NOON + timedelta(seconds=60)
    assert min(thirds[third] for third in range(3)) >= 2
    assert len({case.card for case in traffic.cases}) == len(traffic.cases)


def test_a_case_is_of_its_kind() -> None:
    traffic = Traffic(seed=4, rate=100, seconds=600, start=NOON)
    first = {p.profile.user_id: p.profile for p in traffic.crowd}
    for case in traffic.cases:
        assert _IS[case.kind](case, first[case.transactions[0].user_id])


def _is_velocity(case: Case, _: Profile) -> bool:
    fast = case.last_at - case.first_at < timedelta(seconds=60)
    return fast and 15 <= len(case.transactions) <= 25


def _is_travel(case: Case, owner: Profile) -> bool:
    first, second = case.transactions
    near = second.made_at - first.made_at < timedelta(minutes=2)
    return near and second.country not in {first.country, owner.home_country}


def _is_large(case: Case, owner: Profile) -> bool:
    (charge,) = case.transactions
    return 14.9 < charge.cents / owner.usual_cents < 40


def _is_drain(case: Case, owner: Profile) -> bool:
    *trials, last = case.transactions
    tried = all(trial.cents < 300 or trial.declined for trial in trials)
    near = case.last_at - case.first_at < timedelta(minutes=3)
    return tried and near and 7.9 < last.cents / owner.usual_cents < 15


_IS = {
    "velocity": _is_velocity,
    "travel": _is_travel,
    "large": _is_large,
    "drain": _is_drain,
}


def test_ordinary_users_pay_and_travel_as_people_can() -> None:
    traffic = Traffic(seed=5, rate=60, seconds=900, start=NOON)
    fraud = stolen(traffic)
    rows = features(traffic.arrivals(), traffic.profiles)
    told = [f for t, f in rows if t.transaction_id not in fraud]

    assert max(f.countries for f in told) == 1
    assert max(f.payments for f in told) == MOST_PAYMENTS
    assert 5 < max(f.times_usual for f in told) <= 6
    assert 0.02 < sum(f.abroad for f in told) / len(told) < 0.1
    assert any(f.declines > 1 for f in told)
    assert any(f.tiny > 1 for f in told)


def test_somebody_arrives_elsewhere_during_a_long_run() -> None:
    traffic = Traffic(seed=5, rate=20, seconds=1200, start=NOON)
    fraud = stolen(traffic)
    places = defaultdict(set)
    for _, t in traffic.arrivals():
        if t.transaction_id not in fraud:
            places[t.card].add(t.country)

    assert any(len(countries) == 2 for countries in places.values())


def test_nobody_pays_around_a_change_of_their_profile() -> None:
    traffic, arrivals = a_run()
    at = {c.profile.user_id: c.offset_ms for c in traffic.changes}
    between = [
        abs((t.made_at - NOON) // MS - at[t.user_id])
        for _, t in arrivals
        if t.user_id in at
    ]

    assert 6 <= len(at) <= 60
    assert min(between) >= 9_000


def test_a_profile_is_known_as_it_was_at_any_time() -> None:
    traffic, _ = a_run()
    change = traffic.changes[0]
    user_id, at = change.profile.user_id, NOON + change.offset_ms * MS
    before = traffic.profiles.as_of(user_id, at - MS)

    assert before == traffic.crowd[user_id - 1].profile != change.profile
    assert traffic.profiles.as_of(user_id, at) == change.profile


def test_others_pay_at_night_than_at_noon() -> None:
    def by_rhythm(hour: int) -> list[int]:
        traffic = Traffic(seed=6, rate=50, seconds=60, start=NOON.replace(hour=hour))
        rhythms = {p.profile.user_id: p.rhythm for p in traffic.crowd}
        counts = Counter(rhythms[t.user_id] for _, t in traffic.arrivals())
        return [counts[rhythm] for rhythm in range(len(people.RHYTHMS))]

    assert by_rhythm(2)[3] > 2 * by_rhythm(12)[3]


def test_too_many_payments_for_the_people_are_refused() -> None:
    traffic = Traffic(seed=7, rate=50, seconds=60, start=NOON)
    vars(traffic)["crowd"] = people.people(7, 150)

    with pytest.raises(ValueError, match="too few people"):
        list(traffic.arrivals())
