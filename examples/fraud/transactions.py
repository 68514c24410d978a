"""What the bank tells: card transactions, and the profiles of its users."""

from __future__ import annotations

import json
from datetime import datetime

from headrace import event


@event(key="card", time="made_at")
class Transaction:
    """A card was charged, or a charge was declined."""

    transaction_id: str
    card: str
    user_id: int
    cents: int
    country: str
    merchant: str
    declined: bool
    made_at: datetime


@event(key="user_id")
class Profile:
    """A row of ``public.profiles``: what is usual for a user.

    ``usual_cents`` is a usual payment; ``risk_tier`` is low, middle or high.
    """

    user_id: int
    home_country: str
    usual_cents: int
    risk_tier: str


def as_json(transaction: Transaction) -> bytes:
    """Give a transaction as a record of its topic.

    Example:
        >>> from datetime import UTC
        >>> noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
        >>> paid = Transaction("t1", "c1", 7, 450, "DE", "bakery", False, noon)
        >>> as_json(paid)[:44]
        b'{"transaction_id": "t1", "card": "c1", "user'
    """
    fields = vars(transaction) | {"made_at": transaction.made_at.isoformat()}
    return json.dumps(fields).encode()
