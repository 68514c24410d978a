"""A driver to be killed: it copies a topic into two others, exactly once.

Its only argument is JSON. It ends with one line of JSON: the report of what was
delivered, or the slug of the error that ended it.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from headrace._spark import session
from headrace.delivery import SinkTerms, Terms, deliver
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONFIG = {
    # A driver lives for seconds here, so what pays off later is left out.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    # Has the failpoint before a batch's offsets.
    "spark.sql.streaming.checkpointFileManagerClass": "io.headrace.delivery"
    ".FailingCheckpoints",
}

# Every tenth event of a key goes to the second topic too.
SINKS = "explode(if(cast(split(value, ':')[1] as int) % 10 = 0, array(0, 1), array(0)))"


def run(spark: SparkSession, given: dict[str, Any]) -> dict[str, Any]:
    events = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", given["bootstrap"])
        .option("subscribe", given["input"])
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", given["per_batch"])
        .options(**given["source"])
        .load()
        .where(given["where"])
    )
    outgoing = events.selectExpr(
        f"{given['sinks'] or SINKS} AS sink",
        "key",
        f"{given['value']} AS value",
        f"{given['headers']} AS headers",
        "timestamp",
    )
    terms = Terms(
        pipeline=given["pipeline"],
        query="copy",
        bootstrap=given["bootstrap"],
        checkpoint=given["checkpoint"],
        sinks=tuple(SinkTerms.of_topic(topic, topic) for topic in given["outputs"]),
        adopt=frozenset(given["adopt"]),
        create_topics=True,
        **given["terms"],
    )
    delivering = deliver(outgoing, terms, until_end=True)
    delivering.await_end()
    stages = stages_of(spark, str(delivering.query.runId))
    return delivering.report() | {"pools": pools(spark), "stages": stages}


def stages_of(spark: SparkSession, run: str) -> list[int]:
    """Give how many stages each job of a query had, of those that Spark remembers."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(run)]
    return [len(job.stageIds) for job in jobs if job is not None]


def pools(spark: SparkSession) -> list[str]:
    """Give the pools in which jobs were run so far."""
    context: Any = spark.sparkContext._jsc.sc()
    known = context.getAllPools()
    return [known.apply(number).name() for number in range(known.size())]


def main() -> int:
    spark = session("faults", config=CONFIG)
    try:
        told, status = run(spark, json.loads(sys.argv[1])), 0
    except HeadraceError as error:
        told, status = {"slug": error.slug, "text": str(error)}, 1
    except Exception as error:
        told, status = {"slug": "", "text": f"{type(error).__name__}: {error}"}, 2
    print(json.dumps(told), flush=True)  # noqa: T201
    return status


if __name__ == "__main__":
    sys.exit(main())
