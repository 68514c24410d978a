"""A join of two tables that cannot work is refused where it is declared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from headrace import Pipeline, Table, event, kafka, sinks
from headrace.plan.table_joins import JoinTables
from support.harness.refusals import refused


@event(key="order_id")
class Order:
    order_id: int
    customer_id: int | None
    cents: int


@event(key="customer_id")
class Customer:
    customer_id: int
    city: str
    cents: int | None = None


@event(key="payment_id", time="made_at")
class Payment:
    payment_id: str
    order_id: int
    made_at: datetime


def orders(pipeline: Pipeline | None = None) -> Table:
    return (pipeline or Pipeline("shop")).table(kafka("orders", Order))


def customers(pipeline: Pipeline | None = None) -> Table:
    table = (pipeline or Pipeline("shop")).table(kafka("customers", Customer))
    return table.select("customer_id", "city")


def named(kind: str = "inner") -> Table:
    return orders().join("named", customers(), on="customer_id", kind=kind)


def test_the_result_has_the_left_key_and_the_columns_of_both() -> None:
    table = named()

    assert table.key == ("order_id",)
    assert table.columns == ["order_id", "customer_id", "cents", "city"]
    assert table.row["city"].required
    assert isinstance(table.step, JoinTables)


def test_what_may_be_absent_may_be_null() -> None:
    left = named("left").row
    both = customers().join(
        "both", customers(), on="customer_id", kind="full", prefix="b_"
    )

    assert not left["city"].required
    assert left["order_id"].required
    required = [field.name for field in both.row if field.required]
    assert required == ["customer_id"]


def test_the_result_can_be_written_by_the_left_key() -> None:
    shop = Pipeline("shop")
    table = orders(shop).join("named", customers(shop), on="customer_id")
    shop.write("named", table.where("cents > 5"), sinks.kafka("named"))

    told = next(s for s in shop.explain()["steps"] if s["verb"] == "join")

    assert told["does"] == '"named", inner of two tables on customer_id'
    assert told["state"] == "the rows of both tables"
    assert shop.outputs[0].key == "order_id"


@pytest.mark.parametrize(
    ("slug", "declare"),
    [
        (
            "join-key-not-primary",
            lambda: orders().join(
                "j", customers().derive(n="customer_id + 1"), on={"cents": "n"}
            ),
        ),
        (
            "join-key-not-primary",
            lambda: orders().join("j", customers(), on="customer_id", kind="full"),
        ),
        (
            "join-key-not-primary",
            lambda: (
                orders()
                .select("customer_id", "cents")
                .join("j", customers(), on="customer_id")
            ),
        ),
        ("option-unknown", lambda: named("right")),
        ("join-needs-key", lambda: orders().join("j", customers(), on={})),
        ("column-unknown", lambda: orders().join("j", customers(), on="city")),
        (
            "column-taken",
            lambda: orders().join("j", customers().derive(cents="1"), on="customer_id"),
        ),
        (
            "lookup-of-joined-table",
            lambda: (
                Pipeline("shop")
                .read(kafka("payments", Payment))
                .join("j", named(), on="order_id")
            ),
        ),
    ],
)
def test_what_cannot_be_joined_is_refused_by_name(
    slug: str, declare: Callable[[], Any]
) -> None:
    with refused(slug):
        declare()
