"""What a window keeps is bounded, and gone once the watermark has passed it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from headrace import (
    Pipeline,
    after,
    assigned,
    counted,
    event,
    everything,
    hopping,
    kafka,
    minutes,
    refire,
    seconds,
    sessions,
    sinks,
    sliding,
    tumbling,
)
from headrace.testing import Rig
from support.harness.trying import LAYOUT, settings, told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
CARDS = 4
ROUNDS = 8
EVERY = timedelta(minutes=5)

CLEARED: dict[str, tuple[Any, dict[str, Any]]] = {
    "tumbling": (tumbling(minutes(5)), {}),
    "tumbling-refire": (tumbling(minutes(5)), {"late": refire(minutes(7))}),
    "tumbling-early": (
        tumbling(minutes(5)),
        {"early": after(events=2, time=minutes(1)), "panes": "retracting"},
    ),
    "tumbling-spread": (tumbling(minutes(5)), {"hot_keys": "spread"}),
    "tumbling-staggered": (
        tumbling(minutes(5), staggered=True),
        {"late": refire(minutes(7))},
    ),
    "hopping": (hopping(minutes(6), every=minutes(2)), {}),
    # So many at a time that each is kept by itself.
    "hopping-narrow": (hopping(minutes(5), every=seconds(10)), {}),
    "assigned": (
        assigned(start="made_at", end="made_at + interval 3 minutes"),
        {"late": refire(minutes(4))},
    ),
    "sessions": (sessions(minutes(3)), {"late": refire(minutes(2))}),
    "sliding": (sliding(minutes(4)), {"late": refire(minutes(1))}),
}
# What is kept of these does not depend on the watermark: one state of each key.
KEPT: dict[str, tuple[Any, dict[str, Any]]] = {
    "everything": (everything(), {"early": after(events=3)}),
    "counted": (counted(1000), {}),
}

# Which part an event is of is told by its bytes, so rounds differ by a few parts; and
# where in a stretch of time a round lies, by an entry of each key.
STEADY = [name for name in CLEARED if name not in {"tumbling-spread", "hopping"}]

State = Mapping[str, Mapping[str, int]]

pytestmark = pytest.mark.long


@event(key="card", time="made_at")
class Payment:
    card: str
    made_at: datetime


def payments(number: int) -> list[Payment]:
    """Give those of one round: of each card a few, and one that comes late."""
    start = START + number * EVERY
    return [
        Payment(f"card-{card}", start + timedelta(seconds=at))
        for card in range(CARDS)
        for at in (0, 1, 70, 130, -200)
    ]


def pipeline() -> Pipeline:
    shop = Pipeline("shop")
    read = shop.read(kafka("payments", Payment), out_of_order=seconds(30))
    for name, (kind, terms) in {**CLEARED, **KEPT}.items():
        panes = read.window(name, kind, by="card", n="count(*)", **terms)
        shop.write(name, panes, sinks.kafka(name, key="window_id"))
    return shop


@pytest.fixture(scope="module")
def rounds(spark: SparkSession) -> Iterator[list[State]]:
    """Give the state after each round, and after one whose watermark is far beyond."""
    shop = pipeline()
    with settings(spark, {LAYOUT: "1"}), Rig(shop, spark) as rig:

        def state() -> State:
            return told(spark, rig._query, shop)[-1].state

        found = []
        for number in range(ROUNDS):
            rig.feed("payments", *payments(number))
            found.append(state())
        rig.advance(START + timedelta(days=1))
        yield [*found, state()]


@pytest.mark.parametrize("name", CLEARED)
def test_nothing_is_left_when_the_watermark_has_passed_all(
    rounds: list[State], name: str
) -> None:
    *during, after_all = (state[name] for state in rounds)

    assert all(state["rows"] and state["timers"] for state in during)
    assert (after_all["rows"], after_all["timers"]) == (0, 0)


@pytest.mark.parametrize("name", STEADY)
def test_state_does_not_grow_with_the_rounds(rounds: list[State], name: str) -> None:
    sizes = [(state[name]["rows"], state[name]["timers"]) for state in rounds[:-1]]

    # Rounds are alike, so from the first on that has all of refire behind it, each
    # leaves as much.
    assert len(set(sizes[4:])) == 1, sizes


def test_open_windows_of_a_key_lie_in_two_stretches_of_time_at_the_most(
    rounds: list[State],
) -> None:
    assert {state["hopping"]["rows"] for state in rounds} <= {0, CARDS, 2 * CARDS}


@pytest.mark.parametrize("name", KEPT)
def test_a_window_without_an_end_keeps_one_state_of_each_key(
    rounds: list[State], name: str
) -> None:
    sizes = {(state[name]["rows"], state[name]["timers"]) for state in rounds}

    assert sizes == {(CARDS, 0)}
