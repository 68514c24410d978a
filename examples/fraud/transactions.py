"""What the bank tells: card transactions, and the profiles of its users."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from io import BytesIO

import fastavro

from headrace import event
from headrace.schema.wire import frame


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


_FIELDS = {
    "transaction_id": "string",
    "card": "string",
    "user_id": "long",
    "cents": "long",
    "country": "string",
    "merchant": "string",
    "declined": "boolean",
    "made_at": {"type": "long", "logicalType": "timestamp-micros"},
}


def avro_schema() -> str:
    """Give the schema by which transactions are written."""
    fields = [{"name": name, "type": type_} for name, type_ in _FIELDS.items()]
    return json.dumps({"type": "record", "name": "Transaction", "fields": fields})


def avro_writer(schema_id: int) -> Callable[[Transaction], bytes]:
    r"""Give what writes a transaction as a record of its topic.

    Args:
        schema_id: The number under which the registry knows `avro_schema`.

    Example:
        >>> from datetime import UTC
        >>> noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
        >>> paid = Transaction("t1", "c1", 7, 450, "DE", "bakery", False, noon)
        >>> avro_writer(5)(paid)[:11]
        b'\x00\x00\x00\x00\x05\x04t1\x04c1'
    """
    schema = fastavro.parse_schema(json.loads(avro_schema()))

    def write(transaction: Transaction) -> bytes:
        body = BytesIO()
        fastavro.schemaless_writer(body, schema, vars(transaction))
        return frame(schema_id, body.getvalue())

    return write
