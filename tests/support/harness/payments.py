"""Payments that come out of order, too late, or torn: what windows are fed."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta

from confluent_kafka import Producer

from headrace.log import writer_settings
from support.harness.numbered_events import create

EVENTS = 1500
# In some batches and not in others.
TORN = (3, 4, 700, 1499)
BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)


def write_payments(bootstrap: str, topic: str) -> None:
    """Write events that come out of order, and some that come too late."""
    create(bootstrap, topic, 2)
    chance = random.Random(5)  # noqa: S311 - an order, no secret
    producer = Producer(writer_settings(bootstrap))
    for number in range(EVENTS):
        card = f"card-{chance.randrange(12)}"
        behind = chance.choice([0, 0, 0, 10, 25, chance.randrange(7200)])
        made_at = BEGAN_AT + timedelta(seconds=5 * number - behind)
        payment = {"card": card, "number": number, "cents": number % 100}
        value = json.dumps(payment | {"made_at": made_at.isoformat()})
        if number in TORN:
            value = value[:20]
        producer.produce(topic, value, key=card, partition=number % 2)
    assert producer.flush(60) == 0
