"""The clocks decide as plain Python does, whatever comes in whatever order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from headrace import milliseconds, minutes, seconds, watermarks
from headrace._spark.clock import decided
from support.models.clock_model import MS, Model, Shown, asked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.windows.watermarks import Strategy

PARTITIONS = 3
BEGINNING = 1_700_000_000_000
DAY = 86_400_000

_TIMES = some.integers(BEGINNING * MS, (BEGINNING + DAY) * MS)
_EVENTS = some.lists(some.tuples(some.integers(0, PARTITIONS - 1), _TIMES), max_size=6)


@some.composite
def histories(draw: some.DrawFn) -> list[Shown]:
    """Batches one after the other, sometimes long after."""
    now, told = BEGINNING, []
    for _ in range(draw(some.integers(1, 8))):
        now += draw(some.sampled_from([0, 10, 30_000, 60_000, 200_000]))
        behind = draw(some.frozensets(some.integers(0, PARTITIONS - 1)))
        is_told = draw(some.booleans())
        told.append(
            Shown(
                now,
                tuple(draw(_EVENTS)),
                behind if is_told else frozenset(),
                told=is_told,
            )
        )
    return told


STRATEGIES = [
    watermarks.by_partition(seconds(0)),
    watermarks.by_partition(minutes(10)),
    watermarks.by_partition(milliseconds(0.5), idle=None),
    watermarks.ascending(idle=seconds(30)),
    watermarks.observed(0.5, idle=seconds(30)),
    watermarks.observed(0.99, at_least=seconds(1), at_most=minutes(5)),
    watermarks.arrival(every=seconds(7)),
]


def run(spark: SparkSession, strategy: Strategy, history: list[Shown]) -> list[int]:
    """Give the clock's watermark after each batch, compared with the model's."""
    model = Model(strategy, PARTITIONS)  # type: ignore[arg-type]
    state = ""
    said: list[int] = []
    for shown in history:
        late = model.see(shown)
        settings = {"name": "t", "topic": "t", "time": "at"} | strategy.terms
        state = decided(spark, settings, state, asked(model, shown, late))
        told = json.loads(state)
        _compare(told, model, shown)
        said.append(told["watermark"])
    return said


def _compare(said: dict[str, Any], model: Model, shown: Shown) -> None:
    strategy = model.strategy
    if isinstance(strategy, watermarks.Observed):
        _require_fair_delay(said["delay"], model)
        delay = said["delay"] * MS
    else:
        delay = strategy.terms.get("lag_us", 0)
    assert said["watermark"] == model.decide(shown, delay)


def _require_fair_delay(delay: int, model: Model) -> None:
    """A delay covers what was observed, and at most a quarter more."""
    terms = model.strategy.terms
    exact = -(-model.observed // MS)
    least, most = terms["at_least_ms"], terms["at_most_ms"]
    assert min(max(exact, least), most) <= delay
    assert delay <= max(least, min(most, exact + exact // 4))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.summary[:40])
@settings(max_examples=60, deadline=None)
@given(history=histories())
def test_a_clock_decides_as_the_model_does(
    spark: SparkSession, strategy: Strategy, history: list[Shown]
) -> None:
    said = run(spark, strategy, history)

    assert said == sorted(said)


def test_an_old_delay_is_forgotten_when_events_come_in_order(
    spark: SparkSession,
) -> None:
    strategy = watermarks.observed(0.9)
    settings_ = {"name": "t", "topic": "t", "time": "at"} | strategy.terms
    at = BEGINNING * MS
    shown = {"now": BEGINNING, "seen": {"0": at}, "late": [60_000 * MS] * 60_000}
    state = decided(spark, settings_, "", shown)
    assert json.loads(state)["delay"] >= 60_000

    for _ in range(6):
        state = decided(spark, settings_, state, shown | {"late": [0] * 60_000})

    assert json.loads(state)["delay"] == 0
