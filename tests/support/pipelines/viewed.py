"""A pipeline with views, to be followed and killed: accounts, and what cards spend.

As a script its only argument is JSON; it reads the input to its end and stops.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession

from headrace import (
    HeadraceError,
    Pipeline,
    after,
    event,
    kafka,
    minutes,
    refire,
    tumbling,
)
from headrace._spark import end, session
from headrace.log import administer
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics

CONFIG = {
    # A driver lives for seconds here, so what pays off later is left out.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "768m",
    "spark.sql.shuffle.partitions": "2",
}


@event(key="id")
class Account:
    """A row of the topic of accounts."""

    id: int
    cents: int


@event(key="card", time="at")
class Payment:
    """A payment by card."""

    card: str
    cents: int
    at: datetime


def pipeline(name: str, lanes: int = 1) -> Pipeline:
    """Give a pipeline with three views."""
    made = Pipeline(name, lanes=lanes)
    accounts = made.table(kafka(f"{name}.accounts", Account), name="accounts")
    made.view("accounts", accounts)
    rich = accounts.where("cents >= 500").select("id", euros="cents div 100")
    made.view("rich", rich)
    payments = made.read(kafka(f"{name}.payments", Payment))
    velocity = payments.window(
        "velocity",
        tumbling(minutes(5)),
        by="card",
        early=after(events=1),
        late=refire(minutes(60)),
        having="spent < 1000",
        payments="count(*)",
        spent="sum(cents)",
    )
    made.view("velocity", velocity)
    return made


def run(spark: SparkSession, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run the pipeline to the input's end."""
    made = pipeline(given["name"], given.get("lanes", 1))
    conditions = Conditions(
        given["bootstrap"],
        given["checkpoint"],
        until_caught_up=True,
        most_per_batch=given.get("per_batch"),
    )
    make_missing_topics(administer(given["bootstrap"], None), made)
    start(made, spark, conditions).await_end()
    return {}


def main() -> None:
    """Run it as its argument says."""
    spark = session("viewed", config=CONFIG)
    try:
        told = run(spark, json.loads(sys.argv[1]))
    except HeadraceError as error:
        print(json.dumps({"slug": error.slug}), flush=True)  # noqa: T201 - the answer
        sys.exit(1)
    print(json.dumps(told), flush=True)  # noqa: T201
    end(spark)


if __name__ == "__main__":
    main()
