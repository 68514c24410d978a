"""A pipeline that keeps a captured table, to be killed: its rows go to topics.

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

from headrace import HeadraceError, Pipeline, cdc, event, sinks
from headrace._spark import end, session
from headrace.log import administer
from headrace.runtime.rebuild import Rebuild, require_rebuilt
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics

CONFIG = {
    # A driver lives for seconds here, so what pays off later is left out.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "768m",
    "spark.sql.shuffle.partitions": "2",
}


@event(key="id")
class Row:
    """A row of the captured table."""

    id: str
    amount: int
    note: str | None = None
    tags: list[str] | None = None


def pipeline(name: str, database: str, lanes: int = 1) -> Pipeline:
    """Give a pipeline that writes a table, and a part of it."""
    made = Pipeline(name, lanes=lanes)
    rows = made.table(cdc.postgres(database, "public.rows", Row), name="rows")
    large = rows.where("amount >= 500").select("id", twice="amount * 2")
    made.write("rows", rows, sinks.kafka(f"{name}-rows"))
    made.write("large", large, sinks.kafka(f"{name}-large"))
    return made


def run(spark: SparkSession, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run the pipeline to the input's end, or let its tables begin anew."""
    made = pipeline(given["name"], given["database"], given.get("lanes", 1))
    admin = administer(given["bootstrap"], None)
    conditions = Conditions(
        given["bootstrap"],
        given["checkpoint"],
        until_caught_up=True,
        most_per_batch=given.get("per_batch"),
    )
    make_missing_topics(admin, made)
    if given.get("rebuild"):
        rebuilding = Rebuild(made, conditions, admin)
        rebuilt = rebuilding.run(spark, lambda _batch: None, Event())
        return {"gone": dict(rebuilt.gone), "aside": str(rebuilt.aside)}
    require_rebuilt(conditions.checkpoint)
    start(made, spark, conditions).await_end()
    return {}


def main() -> None:
    """Run it as its argument says."""
    spark = session("tabled", config=CONFIG)
    try:
        told = run(spark, json.loads(sys.argv[1]))
    except HeadraceError as error:
        print(json.dumps({"slug": error.slug}), flush=True)  # noqa: T201 - the answer
        sys.exit(1)
    print(json.dumps(told), flush=True)  # noqa: T201
    end(spark)


if __name__ == "__main__":
    main()
