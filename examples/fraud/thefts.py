"""The planted fraud: four kinds of thieves, each with one card of one user.

- ``velocity``: a burst of 15 to 25 small payments within a minute;
- ``travel``: two payments in different countries within two minutes;
- ``large``: one payment of 15 to 40 times the usual;
- ``drain``: 3 to 6 tiny or declined charges, then one of 8 to 15 times the usual,
  within three minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple

from people import COUNTRIES, Person
from transactions import Transaction
from truth import KINDS, Case

# A thief takes what can be taken: the chance, of ten, that a user is a victim.
EXPOSED = {"low": 4, "middle": 7, "high": 10}
SHOPS = ("electronics", "gift cards", "jewellery", "fuel", "online game", "tickets")

# Room at the end of a run for the last transaction's way.
LAST_MS = 1000


class Charge(NamedTuple):
    """One charge of a thief, so long after the first."""

    after_ms: int
    cents: int
    country: str
    declined: bool = False


@dataclass(frozen=True)
class Mark:
    """A card that is stolen, and how long the thief has at the most."""

    person: Person
    card: str
    room_ms: int

    @property
    def usual(self) -> int:
        """Give what the owner usually pays."""
        return self.person.profile.usual_cents

    @property
    def home(self) -> str:
        """Give where the owner lives."""
        return self.person.profile.home_country


def plan(
    seed: int,
    crowd: Iterable[Person],
    seconds: float,
    per_kind: int,
    start: datetime,
) -> list[Case]:
    """Give the cases of a run in order of time, each on a card of another user.

    Each kind is spread evenly over the run, and every case ends before the run does.
    """
    chance = Random(f"{seed}/thefts")
    exposed = [p for p in crowd if chance.randrange(10) < EXPOSED[p.profile.risk_tier]]
    victims = iter(chance.sample(exposed, per_kind * len(KINDS)))
    length_ms = int(seconds * 1000) - LAST_MS
    cases = []
    for kind in KINDS:
        for number in range(per_kind):
            person = next(victims)
            mark = Mark(person, chance.choice(person.cards), length_ms // 3)
            charges = _KINDS[kind](chance, mark)
            free_ms = length_ms - charges[-1].after_ms
            begin_ms = int(free_ms * (number + chance.random()) / per_kind)
            begin = start + timedelta(milliseconds=begin_ms)
            cases.append(_case(chance, kind, mark, charges, begin))
    return sorted(cases, key=lambda case: (case.first_at, case.card))


def _case(
    chance: Random, kind: str, mark: Mark, charges: Sequence[Charge], begin: datetime
) -> Case:
    made = tuple(
        Transaction(
            transaction_id=f"{chance.getrandbits(64):016x}",
            card=mark.card,
            user_id=mark.person.profile.user_id,
            cents=charge.cents,
            country=charge.country,
            merchant=chance.choice(SHOPS),
            declined=charge.declined,
            made_at=begin + timedelta(milliseconds=charge.after_ms),
        )
        for charge in charges
    )
    return Case(kind, mark.card, made)


def _velocity(chance: Random, mark: Mark) -> list[Charge]:
    span_ms = min(chance.randrange(15_000, 50_000), mark.room_ms)
    country = _country(chance, mark, at_home=80)
    return [
        Charge(
            after_ms,
            max(100, mark.usual * chance.randrange(5, 30) // 100),
            country,
            chance.randrange(100) < 4,
        )
        for after_ms in _moments(chance, chance.randrange(15, 26), span_ms)
    ]


def _travel(chance: Random, mark: Mark) -> list[Charge]:
    gap_ms = min(chance.randrange(5_000, 110_000), mark.room_ms)
    here = _country(chance, mark, at_home=60)
    there = chance.choice([c for c in COUNTRIES if c not in {here, mark.home}])
    first, second = (mark.usual * chance.randrange(60, 350) // 100 for _ in range(2))
    return [Charge(0, first, here), Charge(gap_ms, second, there)]


def _large(chance: Random, mark: Mark) -> list[Charge]:
    cents = mark.usual * chance.randrange(1500, 4000) // 100
    return [Charge(0, cents, _country(chance, mark, at_home=50))]


def _drain(chance: Random, mark: Mark) -> list[Charge]:
    trials = chance.randrange(3, 7)
    span_ms = min(chance.randrange(20_000, 170_000), mark.room_ms)
    country = _country(chance, mark, at_home=70)
    *before, last = _moments(chance, trials + 1, span_ms)
    charges = [_trial(chance, mark, after_ms, country) for after_ms in before]
    cents = mark.usual * chance.randrange(800, 1500) // 100
    return [*charges, Charge(last, cents, country)]


def _trial(chance: Random, mark: Mark, after_ms: int, country: str) -> Charge:
    """Try whether the card works."""
    if chance.randrange(100) < 30:
        cents = mark.usual * chance.randrange(100, 300) // 100
        return Charge(after_ms, cents, country, declined=True)
    return Charge(after_ms, chance.randrange(50, 300), country)


def _moments(chance: Random, count: int, span_ms: int) -> list[int]:
    """Give different moments in order, the first at 0 and the last at the end."""
    between = chance.sample(range(1, span_ms), count - 2)
    return [0, *sorted(between), span_ms]


def _country(chance: Random, mark: Mark, *, at_home: int) -> str:
    if chance.randrange(100) < at_home:
        return mark.home
    return chance.choice([c for c in COUNTRIES if c != mark.home])


_KINDS: dict[str, Callable[[Random, Mark], list[Charge]]] = {
    "velocity": _velocity,
    "travel": _travel,
    "large": _large,
    "drain": _drain,
}
