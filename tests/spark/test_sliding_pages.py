"""Sliding windows of keys with more events than one entry of the state store has."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, event, kafka, minutes, refire, seconds, sinks, sliding
from headrace.testing import Rig

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
SIZE = timedelta(minutes=4)


@event(key="card", time="made_at")
class Payment:
    number: int
    card: str
    cents: int
    made_at: datetime


def pipeline(late: Any) -> Pipeline:
    shop = Pipeline("shop")
    read = shop.read(kafka("payments", Payment), out_of_order=seconds(20))
    recent = read.window(
        "recent",
        sliding(minutes(4)),
        by="card",
        late=late,
        number="last(number)",
        payments="count(*)",
        spent="sum(cents)",
    )
    shop.write("recent", recent, sinks.kafka("recent", key="window_id"))
    shop.write("late", recent.late, sinks.kafka("late"))
    return shop


def traffic(seed: int) -> list[list[Payment]]:
    """Give batches of one hot card, and of another with a payment now and then."""
    chance = random.Random(seed)  # noqa: S311 - traffic, no secret
    batches = []
    for minute in range(12):
        began = START + timedelta(minutes=minute)
        # The hot card is silent for longer than a window, and comes back.
        many = 0 if minute in {6, 7, 8, 9, 10} else chance.randint(30, 90)
        cards = ["hot"] * many + ["cold"]
        batches.append(
            [
                Payment(
                    minute * 1000 + number,
                    card,
                    chance.randint(1, 900),
                    began + timedelta(seconds=chance.uniform(-15, 55)),
                )
                for number, card in enumerate(cards)
            ]
        )
    return batches


def wanted(batches: list[list[Payment]]) -> dict[int, tuple[int, int]]:
    """Give what each payment's card had in the time before it."""
    every = [payment for batch in batches for payment in batch]
    found = {}
    for one in every:
        inside = [
            other.cents
            for other in every
            if other.card == one.card
            and one.made_at - SIZE < other.made_at <= one.made_at
        ]
        found[one.number] = len(inside), sum(inside)
    return found


@pytest.mark.parametrize("late", ["side-output", refire(minutes(1))])
def test_many_events_of_a_key_are_counted_as_few_are(
    spark: SparkSession, late: Any
) -> None:
    batches = traffic(7)
    with Rig(pipeline(late), spark) as rig:
        for number, batch in enumerate(batches):
            rig.feed("payments", *batch)
            if number in {3, 8}:
                rig.crash()
        rig.advance(START + timedelta(hours=1))
        rows = rig.rows("recent", "number", "payments", "spent")

        assert not rig.rows("late", "number")
        assert {n: (count, cents) for n, count, cents in rows} == wanted(batches)
        assert len(rows) == len(wanted(batches))
