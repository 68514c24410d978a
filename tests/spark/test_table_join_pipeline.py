"""A join of two tables as a step among others, in a whole pipeline."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, event, kafka, sinks
from headrace.testing import Rig, Tombstone


@event(key="order_id")
class Order:
    order_id: str
    customer_id: int | None
    cents: int


@event(key="customer_id")
class Customer:
    customer_id: int
    city: str


@pytest.mark.usefixtures("one_partition")
def test_the_result_follows_the_rows_of_both_tables(spark: SparkSession) -> None:
    shop = Pipeline("shop")
    orders = shop.table(kafka("orders", Order)).where("cents > 1")
    customers = shop.table(kafka("customers", Customer)).rename(city="town")
    named = orders.join("named", customers, on="customer_id", kind="left")
    shop.write("named", named.select("order_id", "town"), sinks.kafka("named"))
    with Rig(shop, spark) as rig:
        rig.feed(
            "orders", Order("a", 1, 5), Order("b", None, 5), Order("c", 2, 1), b"{"
        )
        assert rig.table("named", "town") == {"a": (None,), "b": (None,)}

        rig.feed("customers", Customer(1, "Oslo"), Customer(2, "Bern"))
        rig.crash()
        assert rig.table("named", "town") == {"a": ("Oslo",), "b": (None,)}

        rig.feed("orders", Order("a", 2, 5), Order("b", 1, 5), Tombstone("c"))
        assert rig.table("named", "town") == {"a": ("Bern",), "b": ("Oslo",)}

        rig.feed("customers", Tombstone("1"), Customer(2, "Rome"))
        assert rig.table("named", "town") == {"a": ("Rome",), "b": (None,)}
        assert len(rig.dead_letters()) == 1
