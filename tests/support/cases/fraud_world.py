"""The fraud example's world, as the tests see it: one run, and its modules at hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache

from people import Person, Profiles
from traffic import Traffic
from transactions import Profile, Transaction

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@cache
def a_run() -> tuple[Traffic, list[tuple[int, Transaction]]]:
    """Give a minute at 500 a second, and its arrivals."""
    traffic = Traffic(seed=3, rate=500, seconds=60, start=NOON)
    return traffic, list(traffic.arrivals())


def paid(
    seconds: float, cents: int = 1000, card: str = "c", **other: object
) -> Transaction:
    """Give a transaction, so long after noon."""
    at = NOON + timedelta(seconds=seconds)
    fields = {
        "transaction_id": f"{card}@{seconds}",
        "user_id": 1,
        "country": "DE",
        "merchant": "grocer",
        "declined": False,
    }
    return Transaction(card=card, cents=cents, made_at=at, **(fields | other))  # type: ignore[arg-type]


def arrived(*transactions: Transaction) -> list[tuple[int, Transaction]]:
    """Let transactions arrive one after another."""
    return list(enumerate(transactions))


def somebody(home: str = "DE", usual: int = 1000, tier: str = "low") -> Profiles:
    """Give the profiles of a bank with one user."""
    person = Person(Profile(1, home, usual, tier), ("c",), 0)
    return Profiles([person], [], NOON)
