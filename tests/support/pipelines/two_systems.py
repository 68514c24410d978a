"""A pipeline into Kafka and two tables of PostgreSQL, to be killed.

Its only argument is JSON; it reads the input to its end, and says in one line of JSON
what it delivered, or the slug of the error that ended it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from headrace import HeadraceError, Pipeline, event, kafka, sinks
from headrace._spark import session
from headrace.log import administer
from headrace.runtime.run import Conditions, start
from headrace.runtime.targets import artifact_groups
from headrace.runtime.topics import make_missing_topics
from support.pipelines.driver import CONFIG


@event(key="key")
class Numbered:
    """An event that is the n-th of its key."""

    key: str
    number: int
    text: str


@dataclass(frozen=True)
class OneDatabase:
    """Servers of which there is a database alone."""

    address: str

    def database(self, _name: str) -> str:
        return self.address

    def redis(self) -> str:
        raise NotImplementedError

    def opensearch(self) -> str:
        raise NotImplementedError


def pipeline(name: str, topic: str, lanes: int) -> Pipeline:
    """Give a pipeline that copies into a topic, and twice into a database."""
    made = Pipeline(name, lanes=lanes)
    events = made.read(kafka(topic, Numbered))
    table = name.replace("-", "_")
    made.write("log", events, sinks.kafka(f"{name}-out"))
    made.write("latest", events, sinks.postgres(f"{table}_latest"))
    made.write("every", events, sinks.postgres(f"{table}_every", mode="append"))
    return made


def run(spark: SparkSession, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run the pipeline to the input's end."""
    made = pipeline(given["name"], given["topic"], given["lanes"])
    make_missing_topics(administer(given["bootstrap"], None), made)
    conditions = Conditions(
        given["bootstrap"],
        given["checkpoint"],
        until_caught_up=True,
        most_per_batch=given["per_batch"],
        take_over=given["take_over"],
        servers=OneDatabase(given["database"]),
    )
    delivering = start(made, spark, conditions)
    delivering.await_end()
    progress = [json.loads(batch.json) for batch in delivering.query.recentProgress]
    read = sum(batch["numInputRows"] for batch in progress)
    return delivering.report() | {"read": read}


def main() -> int:
    """Run, and tell how it ended."""
    given = json.loads(sys.argv[1])
    made = pipeline(given["name"], given["topic"], given["lanes"])
    groups = artifact_groups(made.outputs)
    level = given.get("log_level", "error")
    spark = session("two-systems", config=CONFIG, groups=groups, log_level=level)
    try:
        told, status = run(spark, given), 0
    except HeadraceError as error:
        told, status = {"slug": error.slug, "text": str(error)}, 1
    print(json.dumps(told), flush=True)  # noqa: T201
    return status


if __name__ == "__main__":
    sys.exit(main())
