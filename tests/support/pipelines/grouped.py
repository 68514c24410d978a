"""A pipeline with groups behind a join of two tables, to be killed.

Its only argument is JSON; it reads the input to its end and stops, or lets its tables
begin anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from threading import Event
from typing import Any

from pyspark.sql import SparkSession

from headrace import Pipeline, event, kafka, sinks
from headrace._spark import end, session
from headrace.log import administer
from headrace.runtime.rebuild import Rebuild
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics

CONFIG = {
    # A driver lives for seconds here, so what pays off later is left out.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "768m",
    "spark.sql.shuffle.partitions": "2",
}

OUTPUTS = ("named", "cities", "sizes")


@event(key="order_id")
class Order:
    """A row of the left table."""

    order_id: str
    customer: str
    cents: int
    weight: float


@event(key="customer")
class Customer:
    """A row of the right table."""

    customer: str
    city: str


def pipeline(name: str, topics: dict[str, str]) -> Pipeline:
    """Give a pipeline with a join, its groups, and groups of those."""
    made = Pipeline(name)
    orders = made.table(kafka(topics["orders"], Order))
    customers = made.table(kafka(topics["customers"], Customer))
    named = orders.join("named", customers, on="customer")
    cities = named.group(
        "cities",
        by="city",
        orders="count(*)",
        cents="sum(cents)",
        weight="sum(weight)",
        least="min(cents)",
        most="max(order_id)",
        customers="count(distinct customer)",
    )
    sizes = cities.group("sizes", by="customers", cities="count(*)", most="max(cents)")
    tables = {"named": named, "cities": cities, "sizes": sizes}
    for output in OUTPUTS:
        made.write(output, tables[output], sinks.kafka(f"{name}-{output}"))
    return made


def run(spark: SparkSession, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run the pipeline to the input's end, or let its tables begin anew."""
    made = pipeline(given["name"], given["topics"])
    admin = administer(given["bootstrap"], None)
    conditions = Conditions(
        given["bootstrap"],
        given["checkpoint"],
        until_caught_up=True,
        most_per_batch=given["per_batch"],
    )
    make_missing_topics(admin, made)
    if given.get("rebuild"):
        Rebuild(made, conditions, admin).run(spark, lambda _batch: None, Event())
    else:
        start(made, spark, conditions).await_end()
    return {}


def main() -> None:
    """Run it as its argument says."""
    spark = session("grouped", config=CONFIG)
    run(spark, json.loads(sys.argv[1]))
    end(spark)


if __name__ == "__main__":
    main()
