"""Five captured tables of a bank, live in Redis, OpenSearch, a lake and a warehouse.

The lake's directory is named by ``BANK_LAKE``.
"""

from __future__ import annotations

import os
from datetime import datetime
from decimal import Decimal
from typing import Annotated

from headrace import Pipeline, cdc, digits, event, sinks


@event(key="id")
class User:
    """Has a note that may be long."""

    id: int
    name: str
    email: str | None
    note: str | None


@event(key="user_id")
class Profile:
    """Is updated often."""

    user_id: int
    country: str | None
    risk: float | None
    tier: int | None
    updated_at: datetime | None


@event(key="card_id")
class Card:
    """Has an exact amount."""

    card_id: str
    user_id: int | None
    credit: Annotated[Decimal, digits(12, 2)] | None
    blocked: bool


@event(key="payment_id")
class Payment:
    """Grows without end."""

    payment_id: int
    card_id: str | None
    cents: int
    made_at: datetime


@event(key="merchant_id")
class Merchant:
    """Has a document and bytes."""

    merchant_id: str
    name: str | None
    details: str | None
    logo: bytes | None


CLASSES = {
    "users": User,
    "profiles": Profile,
    "cards": Card,
    "payments": Payment,
    "merchants": Merchant,
}

bank = Pipeline("bank")
for table, rows in CLASSES.items():
    source = cdc.postgres("bank", f"public.{table}", rows)
    live = bank.table(source)
    bank.write(f"{table}-cache", live, sinks.redis(f"bank:{table}", as_="json"))
    bank.write(f"{table}-search", live, sinks.opensearch(f"bank-{table}"))
    lake = f"{os.environ['BANK_LAKE']}/{table}"
    bank.write(f"{table}-lake", live, sinks.delta(lake, mode="merge"))
    bank.write(f"{table}-warehouse", live, sinks.postgres(table, database="warehouse"))
