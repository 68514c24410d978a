"""What the model is told of a transaction, computed in plain Python.

The pipeline computes the same with Spark; this is what it is held against. A feature
looks at the five minutes of the card up to and including the transaction, in order of
time and then of arrival. What is exactly five minutes earlier is out.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple

from people import Profiles
from transactions import Transaction

WINDOW = timedelta(minutes=5)
TINY_CENTS = 300
TIERS = {"low": 0, "middle": 1, "high": 2}


class Features(NamedTuple):
    """What the model is told, all of it numbers.

    The first six are of the card's five minutes, the others of the transaction and
    the profile that its user had at that time.
    """

    payments: int
    """How many transactions, declined ones too."""
    spent: int
    """The cents of those that were approved."""
    others_spent: int
    """The same without this transaction."""
    countries: int
    """In how many countries."""
    declines: int
    """How many were declined."""
    tiny: int
    """How many were of less than 300 cents."""
    cents: int
    times_usual: float
    """``cents`` by what the user usually pays."""
    abroad: int
    """1 if it is not the user's home country, else 0."""
    tier: int
    """The user's risk: 0 for low, 1 for middle, 2 for high."""


def once(arrivals: Iterable[tuple[int, Transaction]]) -> list[Transaction]:
    """Give each transaction once, in order of time and then of its first arrival."""
    first: dict[str, Transaction] = {}
    for _, transaction in arrivals:
        first.setdefault(transaction.transaction_id, transaction)
    return sorted(first.values(), key=lambda transaction: transaction.made_at)


class Card:
    """The last five minutes of a card."""

    def __init__(self) -> None:
        self._recent: deque[Transaction] = deque()
        self._countries: Counter[str] = Counter()
        self._spent = self._declines = self._tiny = 0

    def add(self, now: Transaction, profiles: Profiles) -> Features:
        """Take the next transaction of the card, and give its features."""
        self._count(now, 1)
        self._recent.append(now)
        while self._recent[0].made_at <= now.made_at - WINDOW:
            self._count(self._recent.popleft(), -1)
        row = profiles.as_of(now.user_id, now.made_at)
        return Features(
            payments=len(self._recent),
            spent=self._spent,
            others_spent=self._spent - _approved(now),
            countries=sum(count > 0 for count in self._countries.values()),
            declines=self._declines,
            tiny=self._tiny,
            cents=now.cents,
            times_usual=now.cents / row.usual_cents,
            abroad=int(now.country != row.home_country),
            tier=TIERS[row.risk_tier],
        )

    def _count(self, transaction: Transaction, sign: int) -> None:
        self._spent += sign * _approved(transaction)
        self._countries[transaction.country] += sign
        self._declines += sign * transaction.declined
        self._tiny += sign * (transaction.cents < TINY_CENTS)


def _approved(transaction: Transaction) -> int:
    return 0 if transaction.declined else transaction.cents


def features(
    arrivals: Iterable[tuple[int, Transaction]], profiles: Profiles
) -> list[tuple[Transaction, Features]]:
    """Give the features of each transaction, in order of time."""
    cards: dict[str, Card] = {}
    told = []
    for transaction in once(arrivals):
        card = cards.setdefault(transaction.card, Card())
        told.append((transaction, card.add(transaction, profiles)))
    return told
