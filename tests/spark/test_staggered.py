"""Tumbling windows that begin at a moment of each key's own."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from headrace import (
    Pipeline,
    after,
    event,
    kafka,
    minutes,
    refire,
    seconds,
    sinks,
    tumbling,
    watermarks,
)
from headrace.testing import Rig

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
START = datetime(2026, 3, 1, 10, tzinfo=UTC)
SIZE = minutes(5)
CARDS = [f"card-{number}" for number in range(12)]

pytestmark = pytest.mark.usefixtures("one_partition")


@event(key="card", time="made_at")
class Payment:
    card: str
    made_at: datetime


def test_each_key_has_windows_of_its_own_and_every_event_is_in_one(
    spark: SparkSession,
) -> None:
    shop = Pipeline("shop")
    payments = shop.read(kafka("payments", Payment), out_of_order=minutes(1))
    own = tumbling(SIZE, staggered=True)
    late = refire(minutes(30))
    counted = payments.window("counted", own, by="card", late=late, n="count(*)")
    shop.write("counted", counted, sinks.kafka("counted", key="window_id"))
    chance = random.Random(3)  # noqa: S311 - an order, no secret
    paid = [
        Payment(
            chance.choice(CARDS), START + timedelta(seconds=chance.uniform(0, 1500))
        )
        for _ in range(200)
    ]
    with Rig(shop, spark) as rig:
        for place in range(0, 200, 50):
            rig.feed("payments", *paid[place : place + 50])
        rig.crash()
        rig.advance(START + timedelta(hours=1))
        rows = rig.rows("counted", "card", "window_start", "window_end", "n")
    # The last pane of a window holds.
    found = {(card, at(begin), at(end)): n for card, begin, end, n in rows}

    moments = {card: (begin - EPOCH) % SIZE for card, begin, _ in found}
    wanted = Counter[tuple[str, datetime, datetime]]()
    for made in paid:
        begin = made.made_at - (made.made_at - EPOCH - moments[made.card]) % SIZE
        wanted[made.card, begin, begin + SIZE] += 1
    assert found == wanted
    # Otherwise nothing would be gained.
    assert len(set(moments.values())) == len(CARDS)


FIRINGS: dict[str, dict[str, Any]] = {
    "once": {},
    "corrected": {"late": refire(minutes(30))},
    "early": {"late": refire(minutes(30)), "early": after(events=3)},
}


def test_a_key_has_the_same_windows_however_they_fire(spark: SparkSession) -> None:
    paid = [Payment(card, START) for card in CARDS]
    begun = {}
    for name, firing in FIRINGS.items():
        shop = Pipeline("shop")
        payments = shop.read(kafka("payments", Payment), out_of_order=minutes(1))
        own = tumbling(SIZE, staggered=True)
        counted = payments.window("counted", own, by="card", n="count(*)", **firing)
        shop.write("counted", counted, sinks.kafka("counted", key="window_id"))
        with Rig(shop, spark) as rig:
            rig.feed("payments", *paid)
            rig.advance(START + timedelta(hours=1))
            begun[name] = {*rig.rows("counted", "card", "window_start", "n")}

    assert len(begun["once"]) == len(CARDS)
    assert begun["corrected"] == begun["early"] == begun["once"]


@pytest.mark.parametrize("staggered", [False, True])
@pytest.mark.parametrize("peek", [False, True])
def test_panes_of_a_window_follow_each_other_and_count_every_event(
    spark: SparkSession, staggered: bool, peek: bool
) -> None:
    shop = Pipeline("shop")
    clock = watermarks.by_partition(seconds(30), peek=peek)
    payments = shop.read(kafka("payments", Payment), watermark=clock)
    own = tumbling(SIZE, staggered=staggered)
    counted = payments.window(
        "counted", own, by="card", late=refire(minutes(4)), n="count(*)"
    )
    shop.write("counted", counted, sinks.kafka("counted", key="window_id"))
    shop.write("late", counted.late, sinks.kafka("late"))
    chance = random.Random(5)  # noqa: S311 - an order, no secret
    fed = 0
    with Rig(shop, spark) as rig:
        for batch in range(16):
            delays = (chance.choice([0, 0, 10, 200, 400, 900]) for _ in range(20))
            rig.feed(
                "payments",
                *(
                    Payment(
                        chance.choice(CARDS),
                        START + timedelta(seconds=70 * batch - delay),
                    )
                    for delay in delays
                ),
            )
            fed += 20
            if batch == 9:
                rig.crash()
        rig.advance(START + timedelta(hours=2))
        rows = rig.rows("counted", "window_id", "pane", "pane_number", "n")
        late = len(rig.rows("late", "card"))

    windows = defaultdict(list)
    for window, pane, number, n in rows:
        windows[window].append((number, pane, n))
    for panes in windows.values():
        assert [number for number, _, _ in panes] == [*range(1, len(panes) + 1)]
        assert {pane for _, pane, _ in panes[1:]} <= {"late"}
        assert [n for *_, n in panes] == sorted({n for *_, n in panes})
    assert sum(panes[-1][2] for panes in windows.values()) + late == fed
    kinds = {pane for _, pane, *_ in rows}
    assert kinds == {"on-time", "late"}
    assert late


def test_without_a_key_windows_begin_as_all_tumbling_ones_do(
    spark: SparkSession,
) -> None:
    shop = Pipeline("shop")
    payments = shop.read(kafka("payments", Payment))
    own = tumbling(SIZE, staggered=True)
    shop.write(
        "counted", payments.window("counted", own, n="count(*)"), sinks.kafka("counted")
    )
    with Rig(shop, spark) as rig:
        rig.feed("payments", Payment("a", START + minutes(7)))
        rig.advance(minutes(5))

        assert rig.rows("counted", "window_start", "n") == [(told(START + SIZE), 1)]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def told(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
