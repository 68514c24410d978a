"""An explanation says all that is known of a pipeline before it runs."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Annotated

import pytest

from headrace import Pipeline, digits, event, kafka, sinks
from headrace.plan.explain import explain_text


@event(key="card", time="made_at")
class Payment:
    card: str
    amount: Annotated[Decimal, digits(12, 2)]
    made_at: datetime
    note: str | None = None


@pytest.fixture
def sales() -> Pipeline:
    sales = Pipeline("sales", lanes=3)
    payments = sales.read(kafka("payments", Payment, start="latest"))
    large = payments.where("amount > 1000")
    sales.write("large", large, sinks.kafka("large-payments"))
    sales.write("fees", large.select("note", fee="amount / 100"), sinks.kafka("fees"))
    both = payments.union(large)
    sales.write("both", both, sinks.kafka("both", key="note"))
    return sales


def test_it_tells_how_the_pipeline_is_called_everywhere(sales: Pipeline) -> None:
    told = sales.explain()

    assert told["pipeline"] == "sales"
    assert told["group"] == "headrace.sales"
    assert told["dead_letters"] == "sales.dead-letters"
    assert told["lanes"] == 3


def test_it_is_plain_data(sales: Pipeline) -> None:
    told = sales.explain()

    assert json.loads(json.dumps(told)) == told


def test_each_step_is_there_once_and_names_what_feeds_it(sales: Pipeline) -> None:
    graph = [(s["step"], s["verb"], s["from"]) for s in sales.explain()["steps"]]

    assert graph == [
        (1, "read", []),
        (2, "where", [1]),
        (3, "select", [2]),
        (4, "union", [1, 2]),
    ]


def test_a_source_is_told_with_topic_format_and_start(sales: Pipeline) -> None:
    read, where, *_ = sales.explain()["steps"]

    assert (read["topic"], read["format"], read["start"]) == (
        *("payments", "json", "latest"),
    )
    assert read["does"] == "topic payments, Payment as json"
    assert "topic" not in where


def test_a_step_is_told_with_columns_key_time_and_line(sales: Pipeline) -> None:
    read, where, select, _ = sales.explain()["steps"]

    assert read["columns"] == {
        "card": "string",
        "amount": "decimal(12,2)",
        "made_at": "timestamp",
        "note": "string",
    }
    assert read["required"] == ["card", "amount", "made_at"]
    assert (read["key"], read["time"]) == ("card", "made_at")
    assert where["does"] == "amount > 1000"
    assert select["columns"] == {"note": "string", "fee": "known when planned"}
    assert select["required"] == []
    assert (select["key"], select["time"]) == (None, None)
    assert all(s["where"].startswith("test_explain.py:") for s in (read, select))


def test_steps_without_state_say_so_and_run_natively(sales: Pipeline) -> None:
    steps = sales.explain()["steps"]

    assert {(step["engine"], step["state"]) for step in steps} == {("native", None)}


def test_outputs_are_told_with_topic_key_and_guarantee(sales: Pipeline) -> None:
    told = [
        (o["output"], o["from"], o["topic"], o["key"])
        for o in sales.explain()["outputs"]
    ]

    assert told == [
        ("large", 2, "large-payments", "card"),
        ("fees", 3, "fees", None),
        ("both", 4, "both", "note"),
    ]


def test_filters_projections_and_unions_of_one_source_are_one_evaluation(
    sales: Pipeline,
) -> None:
    assert sales.explain()["evaluations"] == 1


def test_one_output_that_is_exactly_once_makes_all_so() -> None:
    def deliveries(*given: str) -> list[str]:
        sales = Pipeline("sales")
        payments = sales.read(kafka("payments", Payment))
        for number, delivery in enumerate(given):
            sink = sinks.kafka(f"out-{number}")
            sales.write(f"out-{number}", payments, sink, delivery=delivery)
        told = sales.explain()
        return [told["delivery"], *(o["delivery"] for o in told["outputs"])]

    assert deliveries("at-least-once", "at-least-once") == ["at-least-once"] * 3
    assert deliveries("at-least-once", "exactly-once") == ["exactly-once"] * 3


def test_a_pipeline_without_outputs_can_be_explained() -> None:
    told = Pipeline("sales").explain()

    assert (told["steps"], told["outputs"], told["evaluations"]) == ([], [], 0)
    assert explain_text(told).startswith('pipeline "sales"')


def test_the_text_says_the_same_to_a_person(sales: Pipeline) -> None:
    told = sales.explain()
    text = explain_text(told)

    for step in told["steps"]:
        assert step["does"] in text
        assert step["where"] in text
    assert "3 lane(s), 1 evaluation(s)" in text
    assert "note string, fee known when planned" in text
    assert 'output "large" <- 2: topic large-payments as json keyed by card' in text
    assert 'output "fees" <- 3: topic fees as json, without a key' in text
    assert "exactly-once: each event once, for readers of committed data" in text
