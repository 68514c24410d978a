"""A pipeline with joins, to be killed: all that they tell goes to topics.

Its only argument is JSON; it reads the input to its end and stops.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession

from headrace import (
    Pipeline,
    between,
    broadcast,
    event,
    kafka,
    minutes,
    seconds,
    settled,
    sinks,
    watermarks,
)
from headrace._spark import end, session
from headrace.log import administer
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics

CONFIG = {
    # A driver lives for seconds here, so what pays off later is left out.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "768m",
    "spark.sql.shuffle.partitions": "1",
}

OUTPUTS = ("pairs", "late", "late-right", "native", "answers", "missing", "held")


@event(key="number", time="at")
class Shown:
    """What is clicked, and told with the row of its ad."""

    number: int
    ad: str
    at: datetime


@event(key="ad", time="clicked_at")
class Clicked:
    """The other side."""

    click: int
    ad: str
    clicked_at: datetime


@event(key="ad")
class Ad:
    """A row of the table."""

    ad: str
    price: int


def pipeline(name: str, topics: dict[str, str]) -> Pipeline:
    """Give a pipeline with joins of two streams and with a table, on every path."""
    made = Pipeline(name)
    # How long a driver was dead must not be seen in what is told, as it would be if a
    # partition could become idle.
    watermark = watermarks.by_partition(seconds(30), idle=None)
    shown = made.read(kafka(topics["shown"], Shown), watermark=watermark)
    clicks = made.read(kafka(topics["clicked"], Clicked), watermark=watermark)
    ads = made.table(kafka(topics["ads"], Ad), watermark=watermark)
    within = between(seconds(-30), minutes(3))
    pairs = shown.join("pairs", clicks, on="ad", within=within, kind="full")
    native = shown.join("native", clicks, on="ad", within=within, late="drop")
    held = shown.join("held", ads, on="ad", lookup=broadcast())
    lookup = settled(missing="side-output", retention=minutes(10))
    answers = shown.join("answers", ads, on="ad", lookup=lookup)
    streams = {
        "pairs": pairs,
        "late": pairs.late,
        "late-right": pairs.late_right,
        "native": native,
        "answers": answers,
        "missing": answers.missing,
        "held": held,
    }
    for output in OUTPUTS:
        made.write(output, streams[output], sinks.kafka(f"{name}-{output}", key="ad"))
    return made


def run(spark: SparkSession, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run the pipeline to the input's end."""
    made = pipeline(given["name"], given["topics"])
    make_missing_topics(administer(given["bootstrap"], None), made)
    conditions = Conditions(
        given["bootstrap"],
        given["checkpoint"],
        until_caught_up=True,
        most_per_batch=given["per_batch"],
    )
    start(made, spark, conditions).await_end()
    return {}


def main() -> None:
    """Run it as its argument says."""
    spark = session("joined", config=CONFIG)
    run(spark, json.loads(sys.argv[1]))
    end(spark)


if __name__ == "__main__":
    main()
