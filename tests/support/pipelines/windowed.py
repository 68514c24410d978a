"""A pipeline with every kind of window, to be killed: all panes go to topics.

Its only argument is JSON; it reads the input to its end and stops.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict

from pyspark.sql import SparkSession

from headrace import (
    Pipeline,
    after,
    assigned,
    counted,
    event,
    everything,
    hopping,
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
from headrace.log import administer
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics
from headrace.windows.firing import After, Refire
from headrace.windows.kinds import Kind

CONFIG = {
    # A driver lives for seconds here, so what pays off later is left out.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "768m",
    "spark.sql.shuffle.partitions": "1",
    # Has the failpoint before a batch's offsets.
    "spark.sql.streaming.checkpointFileManagerClass": "io.headrace.delivery"
    ".FailingCheckpoints",
}


class Terms(TypedDict, total=False):
    """What a window is declared with beside its kind."""

    late: str | Refire
    early: After
    panes: str
    hot_keys: str


KINDS: dict[str, tuple[Kind, Terms]] = {
    "tumbling": (tumbling(minutes(5)), {"late": refire(minutes(5))}),
    "hopping": (hopping(minutes(6), every=minutes(2)), {}),
    "sliding": (sliding(minutes(5)), {}),
    "sessions": (sessions(minutes(2)), {"early": after(events=3)}),
    "everything": (everything(), {"early": after(events=7), "panes": "retracting"}),
    "counted": (counted(10), {}),
    "assigned": (
        assigned(
            start="date_trunc('HOUR', made_at)",
            end="date_trunc('HOUR', made_at) + INTERVAL 1 HOUR",
        ),
        {"early": after(time=minutes(10)), "panes": "discarding"},
    ),
    "hot": (hopping(minutes(6), every=minutes(3)), {"hot_keys": "spread"}),
}

# Those that Spark itself gathers.
NATIVE: dict[str, tuple[Kind, Terms]] = {
    "native": (tumbling(minutes(5)), {"late": "drop"}),
    "overlapping": (hopping(minutes(6), every=minutes(2)), {"late": "drop"}),
}


@event(key="card", time="made_at")
class Payment:
    """What is counted."""

    card: str
    number: int
    cents: int
    made_at: datetime


def pipeline(name: str, topic: str, kinds: Sequence[str]) -> Pipeline:
    """Give a pipeline with a window of each of some kinds."""
    made = Pipeline(name)
    # How long a driver was dead must not be seen in the panes, as it would be if a
    # partition could become idle.
    watermark = watermarks.by_partition(seconds(30), idle=None)
    payments = made.read(kafka(topic, Payment), watermark=watermark)
    for kind in kinds:
        windows, terms = (KINDS | NATIVE)[kind]
        panes = payments.window(
            kind, windows, by="card", number="count(*)", cents="sum(cents)", **terms
        )
        made.write(kind, panes, sinks.kafka(f"{name}-{kind}"))
        if keeps_late(kind):
            made.write(f"{kind}-late", panes.late, sinks.kafka(f"{name}-{kind}-late"))
    return made


def keeps_late(kind: str) -> bool:
    """Tell whether late events of a kind are an output of their own."""
    return kind in KINDS and kind != "counted"


def run(spark: SparkSession, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run the pipeline to the input's end."""
    made = pipeline(given["name"], given["topic"], given["kinds"])
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
    spark = session("windowed", config=CONFIG)
    run(spark, json.loads(sys.argv[1]))
    end(spark)


if __name__ == "__main__":
    main()
