"""A pipeline whose watermark looks at the log's end, to be watched or killed.

Its only argument is JSON; it runs until a file says that nothing more comes, and all is
told.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headrace import (
    Pipeline,
    between,
    event,
    kafka,
    minutes,
    refire,
    seconds,
    sessions,
    sinks,
    sliding,
    tumbling,
    watermarks,
)
from headrace._spark import end, session
from headrace.delivery import Delivering
from headrace.log import administer
from headrace.runtime.progress import BatchProgress, batches_after
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics
from support.pipelines.windowed import CONFIG

LAG, SLIDING = seconds(30), minutes(2)
LATE = ("too-late", "slid-late", "pairs-late", "known-late")
OUTPUTS = ("tumbled", "slid", "sessions", "pairs", "behind", *LATE)


@event(key="card", time="made_at")
class Payment:
    """What is counted."""

    card: str
    number: int
    made_at: datetime


@event(key="card", time="back_at")
class Refund:
    """What a payment is joined with."""

    card: str
    refund: int
    back_at: datetime


@event(key="card")
class Limit:
    """A row of the table."""

    card: str
    cents: int


def pipeline(name: str, topics: Mapping[str, str], *, peek: bool) -> Pipeline:
    """Give a pipeline with each step that goes by the watermark."""
    made = Pipeline(name)
    # How long a driver was dead must not be seen in what is told, as it would be if a
    # partition could become idle.
    watermark = watermarks.by_partition(LAG, idle=None, peek=peek)
    payments = made.read(kafka(topics["payments"], Payment), watermark=watermark)
    refunds = made.read(kafka(topics["refunds"], Refund), watermark=watermark)
    limits = made.table(kafka(topics["limits"], Limit), watermark=watermark)
    once = payments.dedupe("once", by="number", within=minutes(10))
    n, last = "count(*)", "max(number)"
    late = refire(minutes(10))
    tumbled = once.window(
        "tumbled", tumbling(minutes(1)), by="card", late=late, n=n, last=last
    )
    slid = once.window("slid", sliding(SLIDING), by="card", n=n, last=last)
    counted = once.window("sessions", sessions(seconds(20)), by="card", n=n, last=last)
    within = between(seconds(-20), seconds(40))
    pairs = once.join("pairs", refunds, on="card", within=within, kind="left")
    known = once.join("limit", limits, on="card")
    behind = known.window(
        "behind", sliding(SLIDING), by="card", cents="max(cents)", n=n, last=last
    )
    streams = (tumbled, slid, counted, pairs, behind)
    late_ones = (tumbled.late, slid.late, pairs.late, known.late)
    for output, stream in zip(OUTPUTS, (*streams, *late_ones), strict=True):
        made.write(output, stream, sinks.kafka(f"{name}-{output}", key="card"))
    return made


def told(delivering: Delivering) -> list[BatchProgress]:
    """Give what the batches have told."""
    return list(batches_after(delivering, -1))


def run(spark: SparkSession, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run the pipeline until all is told."""
    made = pipeline(given["name"], given["topics"], peek=True)
    make_missing_topics(administer(given["bootstrap"], None), made)
    conditions = Conditions(given["bootstrap"], given["checkpoint"])
    delivering = start(made, spark, conditions)
    while not Path(given["until"]).exists():
        if delivering.await_end(timedelta(milliseconds=200)):
            raise AssertionError("it has ended by itself")
    delivering.query.processAllAvailable()
    delivering.stop()
    return {}


def main() -> None:
    """Run it as its argument says."""
    spark = session("peeked", config=CONFIG)
    run(spark, json.loads(sys.argv[1]))
    end(spark)


if __name__ == "__main__":
    main()
