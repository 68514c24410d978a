"""The bank's users: who they are, which cards they have, and what changes.

Everything is drawn from a seed with whole numbers alone, so the same seed gives the
same users on every machine.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import accumulate
from operator import mul
from random import Random
from statistics import NormalDist
from typing import NamedTuple

from transactions import Profile

# Where users live, and how many of a hundred.
HOMES = {"DE": 26, "FR": 18, "IT": 14, "ES": 12, "PL": 9, "NL": 6, "AT": 5, "PT": 4}
HOMES |= {"SE": 3, "DK": 3}
COUNTRIES = (*HOMES, "GB", "US", "CH", "TR", "TH", "BR", "JP", "MA")
TIERS = {"low": 70, "middle": 22, "high": 8}

# How much each kind of user pays in each hour of the day, in UTC.
RHYTHMS = (
    (1, 1, 1, 1, 2, 6, 9, 9, 8, 7, 6, 6, 7, 6, 6, 6, 6, 5, 4, 3, 2, 1, 1, 1),
    (1, 1, 1, 1, 1, 2, 4, 6, 6, 6, 7, 9, 9, 8, 7, 7, 8, 9, 9, 7, 5, 4, 2, 1),
    (2, 2, 1, 1, 1, 1, 2, 3, 4, 5, 6, 6, 7, 7, 7, 7, 8, 9, 9, 9, 8, 7, 5, 4),
    (8, 7, 6, 5, 4, 3, 2, 2, 2, 3, 3, 4, 4, 4, 4, 4, 5, 5, 6, 7, 8, 9, 9, 9),
)


class Person(NamedTuple):
    """A user, with the cards and the kind of day that they have."""

    profile: Profile
    cards: tuple[str, ...]
    rhythm: int


class Change(NamedTuple):
    """A row of ``public.profiles`` that becomes another, so long after the start."""

    offset_ms: int
    kind: str
    profile: Profile


def spread(deviation: float, least: int, most: int) -> tuple[int, ...]:
    """Give 1024 equally likely values of a log-normal around 1, in thousandths."""
    normal = NormalDist(0, deviation)
    values = (
        round(1000 * math.exp(normal.inv_cdf((k + 0.5) / 1024))) for k in range(1024)
    )
    return tuple(min(max(value, least), most) for value in values)


def weighted(weights: dict[str, int]) -> tuple[str, ...]:
    """Give each name as often as it weighs, to be drawn from evenly."""
    return tuple(name for name, weight in weights.items() for _ in range(weight))


_HOMES = weighted(HOMES)
_TIERS = weighted(TIERS)
_USUAL = spread(0.5, 300, 4000)
_CARDS = (1, 1, 1, 2, 2, 3)


def people(seed: int, count: int) -> list[Person]:
    """Give so many users.

    Example:
        >>> first = people(seed=7, count=100)[0]
        >>> first.profile.user_id, first.cards[0]
        (1, 'card-000001-1')
    """
    chance = Random(f"{seed}/people")
    return [_person(chance, user_id) for user_id in range(1, count + 1)]


def _person(chance: Random, user_id: int) -> Person:
    profile = Profile(
        user_id=user_id,
        home_country=chance.choice(_HOMES),
        usual_cents=4 * chance.choice(_USUAL),
        risk_tier=chance.choice(_TIERS),
    )
    cards = range(1, chance.choice(_CARDS) + 1)
    return Person(
        profile,
        tuple(f"card-{user_id:06}-{number}" for number in cards),
        chance.randrange(len(RHYTHMS)),
    )


def changes(seed: int, crowd: Sequence[Person], seconds: float) -> list[Change]:
    """Give what changes during a run: each user once at the most, in order of time.

    Somebody has ``moved`` and says so at last, is in another ``tier``, or ``earns``
    another amount than before. There is one change in five seconds, 6 to 60 in all.
    """
    chance = Random(f"{seed}/changes")
    count = min(max(6, int(seconds / 5)), 60, len(crowd) // 4)
    found = []
    for number, person in enumerate(chance.sample(crowd, count)):
        share = 0.15 + 0.7 * (number + chance.random()) / count
        kind, row = _changed(chance, person.profile)
        found.append(Change(int(seconds * 1000 * share), kind, row))
    return found


def _changed(chance: Random, row: Profile) -> tuple[str, Profile]:
    kind = chance.choice(("moved", "tier", "earns"))
    if kind == "moved":
        home = chance.choice([name for name in HOMES if name != row.home_country])
        return kind, replace(row, home_country=home)
    if kind == "tier":
        tier = chance.choice([name for name in TIERS if name != row.risk_tier])
        return kind, replace(row, risk_tier=tier)
    more = row.usual_cents * chance.randrange(3, 7)
    less = max(300, row.usual_cents // chance.randrange(3, 7))
    return kind, replace(row, usual_cents=chance.choice((more, less)))


class Profiles:
    """The table of profiles with its past: which row a user had at which time."""

    def __init__(
        self, crowd: Iterable[Person], later: Iterable[Change], start: datetime
    ) -> None:
        self._first = {person.profile.user_id: person.profile for person in crowd}
        self._later: dict[int, list[tuple[datetime, Profile]]] = {}
        for change in later:
            at = start + timedelta(milliseconds=change.offset_ms)
            rows = self._later.setdefault(change.profile.user_id, [])
            rows.append((at, change.profile))

    def as_of(self, user_id: int, at: datetime) -> Profile:
        """Give the row of a user at a time."""
        rows = self._later.get(user_id, ())
        place = bisect_right(rows, at, key=lambda row: row[0])
        return rows[place - 1][1] if place else self._first[user_id]


def shares(hour: int, sizes: Sequence[int]) -> list[int]:
    """Give the running sums of what each kind of user pays in an hour of the day."""
    # Everybody pays at any hour now and then.
    weights = [3 + rhythm[hour] for rhythm in RHYTHMS]
    return list(accumulate(map(mul, weights, sizes)))
