"""Strategies as they are declared, and which sources they drive."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from headrace import (
    Pipeline,
    event,
    hours,
    kafka,
    milliseconds,
    minutes,
    seconds,
    sinks,
    tumbling,
    watermarks,
)
from headrace.plan.clock import Clocks
from headrace.plan.states import state_owners
from headrace.plan.steps import Read
from support.harness.refusals import refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace import Stream
    from headrace.windows.watermarks import Strategy


@event(key="card", time="made_at")
class Payment:
    card: str
    made_at: datetime


@event(key="card")
class Timeless:
    card: str


@pytest.fixture
def shop() -> Pipeline:
    return Pipeline("shop")


def strategy_of(stream: Stream) -> Strategy:
    assert isinstance(stream.step, Read)
    return stream.step.watermark


def test_a_topic_is_followed_by_partition_unless_told_otherwise(shop: Pipeline) -> None:
    plain = shop.read(kafka("payments", Payment))
    late = shop.read(kafka("payments", Payment), out_of_order=seconds(10))

    assert strategy_of(plain) == watermarks.by_partition(timedelta(0))
    assert strategy_of(late) == watermarks.by_partition(seconds(10), idle=minutes(1))


def test_a_strategy_is_kept_with_the_source(shop: Pipeline) -> None:
    wanted = watermarks.observed(0.9, at_least=seconds(1))

    read = shop.read(kafka("payments", Payment), watermark=wanted)

    assert strategy_of(read) is wanted


def test_a_strategy_and_its_short_form_are_refused_together(shop: Pipeline) -> None:
    with refused("watermark-twice"):
        shop.read(
            kafka("payments", Payment),
            out_of_order=seconds(1),
            watermark=watermarks.ascending(),
        )


@pytest.mark.parametrize(
    ("strategy", "terms"),
    [
        (watermarks.lagging(seconds(2)), {"kind": "lagging", "lag_us": 2_000_000}),
        (
            watermarks.by_partition(milliseconds(1.5), idle=None),
            {"kind": "by-partition", "lag_us": 1500, "idle_ms": None},
        ),
        (
            watermarks.ascending(idle=hours(1)),
            {"kind": "ascending", "lag_us": 1000, "idle_ms": 3_600_000},
        ),
        (
            watermarks.observed(0.95, at_least=seconds(1), at_most=minutes(1)),
            {
                "kind": "observed",
                "percentile": 0.95,
                "at_least_ms": 1000,
                "at_most_ms": 60_000,
                "idle_ms": 60_000,
            },
        ),
        (
            watermarks.arrival(every=milliseconds(0.1)),
            {"kind": "arrival", "every_ms": 1},
        ),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_a_strategy_tells_the_clock_its_terms(
    strategy: Strategy, terms: dict[str, Any]
) -> None:
    assert strategy.terms == terms
    assert strategy.kind == terms["kind"]
    assert strategy.summary


def test_a_strategy_that_peeks_says_so() -> None:
    strategy = watermarks.by_partition(seconds(1), peek=True)

    assert strategy.peeks
    assert strategy.summary.endswith(", looks at the log's end")
    assert not watermarks.by_partition(seconds(1)).peeks


@pytest.mark.parametrize(
    ("slug", "declare"),
    [
        ("duration-negative", lambda: watermarks.lagging(seconds(-1))),
        ("duration-negative", lambda: watermarks.by_partition(seconds(-1))),
        ("duration-negative", lambda: watermarks.observed(at_least=seconds(-1))),
        ("duration-unreadable", lambda: watermarks.lagging(10)),  # type: ignore[arg-type]
        ("duration-too-long", lambda: watermarks.lagging(timedelta.max)),
        ("duration-not-positive", lambda: watermarks.ascending(idle=seconds(0))),
        ("duration-not-positive", lambda: watermarks.arrival(every=seconds(0))),
        ("share-out-of-range", lambda: watermarks.observed(99)),
        ("share-out-of-range", lambda: watermarks.observed(0)),
        (
            "delays-reversed",
            lambda: watermarks.observed(at_least=hours(2), at_most=hours(1)),
        ),
        ("duration-negative", lambda: kafka("t", Payment, ahead=seconds(-1))),
    ],
)
def test_what_cannot_be_waited_for_is_refused(
    slug: str, declare: Callable[[], object]
) -> None:
    with refused(slug):
        declare()


def test_the_bounds_of_an_observed_delay_may_be_the_same() -> None:
    fixed = watermarks.observed(1, at_least=hours(1), at_most=hours(1))

    assert fixed.at_least == fixed.at_most


def test_only_sources_with_a_time_before_a_step_with_state_have_a_clock(
    shop: Pipeline,
) -> None:
    web = shop.read(kafka("web", Payment))
    again = shop.read(kafka("web", Payment))
    till = shop.read(kafka("till", Payment))
    timeless = shop.read(kafka("other", Timeless))
    both = web.union(again).dedupe("once", by="card", within=hours(1))
    shop.write("both", both, sinks.kafka("both"))
    shop.write("till", till, sinks.kafka("till-out"))
    shop.write("other", timeless, sinks.kafka("other-out"))

    clocks = Clocks(shop.outputs)

    assert clocks.names == {web.step: "web#1", again.step: "web#2"}


def test_state_is_reported_from_the_sinks_to_the_sources(shop: Pipeline) -> None:
    payments = shop.read(kafka("payments", Payment))
    once = payments.dedupe("once", by="card", within=hours(1))
    cards = payments.dedupe("cards", by="card", within=hours(1))
    counts = once.window("counts", tumbling(minutes(5)), by="card", n="count(*)")
    changed = cards.transform(lambda rows: rows)
    shop.write("counts", counts, sinks.kafka("counts", key="window_id"))
    shop.write("changed", changed, sinks.kafka("changed"))

    assert state_owners(shop.outputs) == ["counts", "once", "cards"]
