"""A driver to be killed: it copies numbered lines into a lake, exactly once.

Its only argument is JSON. The last line it prints is JSON as well: the report of what
was delivered, or the slug of the error that ended it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from headrace import sinks
from headrace._spark import session
from headrace._spark.bridge import packed
from headrace.delivery import SinkTerms, Terms, deliver
from headrace.errors import HeadraceError
from headrace.sinks import Sink
from support.pipelines.driver import CONFIG

COLUMNS = "key string, number bigint"


def declared(given: dict[str, Any]) -> Sink:
    place = given["place"]
    match given["kind"]:
        case "files":
            return sinks.files(place)
        case mode:
            return sinks.delta(place, mode=mode, optimise_every=3)


def run(spark: SparkSession, given: dict[str, Any]) -> dict[str, Any]:
    events = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
    lines = events.json(given["source"])
    schema = json.dumps(lines.schema.jsonValue())
    outgoing = lines.select(
        sql.lit(0).alias("sink"),
        sql.col("key").cast("binary"),
        packed(spark, sql.struct("key", "number"), schema).alias("value"),
        sql.expr("CAST(NULL AS array<struct<key:string,value:binary>>)").alias(
            "headers"
        ),
        sql.lit(None).cast("timestamp").alias("timestamp"),
    )
    sink = declared(given)
    settings = sink.settings(None) | {"columns": schema, "key": '["key"]'}
    terms = Terms(
        pipeline="copying",
        query="main",
        bootstrap=None,
        checkpoint=given["checkpoint"],
        sinks=(SinkTerms("copy", sink.system, settings),),
        take_over=given["take_over"],
    )
    delivering = deliver(outgoing, terms, until_end=True)
    delivering.await_end()
    return delivering.report()


def main() -> int:
    given = json.loads(sys.argv[1])
    spark = session("lake", config=CONFIG, groups=["spark-delta"])
    try:
        told, status = run(spark, given), 0
    except HeadraceError as error:
        told, status = {"slug": error.slug, "text": str(error)}, 1
    print(json.dumps(told), flush=True)  # noqa: T201
    return status


if __name__ == "__main__":
    sys.exit(main())
