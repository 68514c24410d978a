"""Whatever the fan-out, a trunk is evaluated once, and routes lead to the outputs."""

from __future__ import annotations

from datetime import datetime

import pytest

from headrace import Pipeline, Stream, event, hours, kafka, minutes, sinks, tumbling
from headrace.plan.routes import by_trunk
from headrace.plan.steps import Step


@event(key="card", time="made_at")
class Payment:
    card: str
    cents: int
    made_at: datetime


@pytest.fixture
def shop() -> Pipeline:
    return Pipeline("shop")


@pytest.fixture
def payments(shop: Pipeline) -> Stream:
    return shop.read(kafka("payments", Payment))


def routes(shop: Pipeline, *streams: Stream) -> dict[Step, list[tuple[int, list[str]]]]:
    """Give the routes from each trunk: an output's number, and the verbs."""
    for number, stream in enumerate(streams):
        shop.write(f"out-{number}", stream, sinks.kafka(f"out-{number}"))
    found = by_trunk(shop.outputs)
    assert shop.explain()["evaluations"] == len(found)
    return {
        trunk: [(r.number, [step.verb for step in r.path]) for r in led]
        for trunk, led in found.items()
    }


def test_filters_and_projections_are_done_on_the_way(
    shop: Pipeline, payments: Stream
) -> None:
    along = payments.where("cents > 1").rename(card="payer")

    assert routes(shop, along, payments) == {
        payments.step: [(0, ["where", "select"]), (1, [])]
    }


def test_a_union_of_one_source_is_one_evaluation(
    shop: Pipeline, payments: Stream
) -> None:
    both = payments.union(payments.where("cents > 1")).where("cents < 9")

    assert routes(shop, both) == {
        payments.step: [
            (0, ["union", "where"]),
            (0, ["where", "union", "where"]),
        ]
    }


def test_unions_inside_each_other_dissolve(shop: Pipeline, payments: Stream) -> None:
    other = shop.read(kafka("refunds", Payment))
    all_ = payments.union(other).union(payments)

    assert routes(shop, all_) == {
        payments.step: [(0, ["union", "union"]), (0, ["union"])],
        other.step: [(0, ["union", "union"])],
    }


def test_panes_and_late_events_come_from_one_window(
    shop: Pipeline, payments: Stream
) -> None:
    told = payments.window("w", tumbling(minutes(5)), by="card", n="count(*)")
    busy = told.where("n > 9")

    assert routes(shop, told, told.late, busy.union(told)) == {
        told.step.inputs[0]: [
            (0, ["panes"]),
            (1, ["late"]),
            (2, ["panes", "where", "union"]),
            (2, ["panes", "union"]),
        ]
    }


def test_a_union_that_feeds_a_step_with_state_stays_one(
    shop: Pipeline, payments: Stream
) -> None:
    both = payments.union(shop.read(kafka("refunds", Payment)))
    once = both.dedupe("once", by="card", within=hours(1))
    told = both.window("w", tumbling(minutes(5)), n="count(*)")
    changed = both.transform(lambda df: df)

    found = routes(shop, once, told, changed)

    assert list(found) == [once.step, told.step.inputs[0], changed.step]
    assert both.step not in found


def test_windows_of_one_source_are_evaluated_each_by_itself(
    shop: Pipeline, payments: Stream
) -> None:
    one = payments.window("one", tumbling(minutes(5)), by="card", n="count(*)")
    two = payments.window("two", tumbling(hours(1)), by="card", n="count(*)")

    assert routes(shop, one.union(two), payments) == {
        one.step.inputs[0]: [(0, ["panes", "union"])],
        two.step.inputs[0]: [(0, ["panes", "union"])],
        payments.step: [(1, [])],
    }
