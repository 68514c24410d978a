"""The lanes of a sink, opened from Python one by one, as tasks open them."""

from __future__ import annotations

import json
import uuid
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headrace._spark.bridge import java_class, java_map
from headrace.delivery.failures import named_failure
from headrace.errors import HeadraceError


class Lanes:
    """The lanes of one sink of a pipeline, and what its ledger says.

    Args:
        spark: The session.
        kind: The sink's class in the JVM, such as ``redis.RedisSink``.
        settings: What it is told.
    """

    def __init__(self, spark: SparkSession, kind: str, settings: dict[str, str]):
        self._spark = spark
        terms = java_class(spark, "delivery.SinkTerms")
        system, _, _ = kind.partition(".")
        told = terms(
            f"p{uuid.uuid4().hex[:8]}", "copy", system, java_map(spark, settings)
        )
        room = "" if system == "postgres" else "sinks."
        self.sink = java_class(spark, f"{room}{kind}")(told)

    def claimed(self, lane: int = 0) -> Any:
        """Open a lane and claim it."""
        opened = self.sink.lane(lane)
        opened.claim()
        return opened

    def row(self, key: str, value: dict[str, Any] | None, version: int = 0) -> Any:
        text = None if value is None else json.dumps(value).encode()
        row = java_class(self._spark, "delivery.OutgoingRow")
        return row(key.encode(), text, version)

    def record(self, batch: int, lanes: int = 1) -> Any:
        told: dict[str, Any] = {"lineage": "here", "batch": batch}
        told |= {"lanes": lanes, "rows": 1}
        told |= {"checksum": None, "offsets": [], "topics": {"a": "1", "b": "2"}}
        told["topics"] |= dict(self.sink.targets())
        record = java_class(self._spark, "delivery.LedgerRecord")
        return record.parse(json.dumps(told).encode())

    def batches(self) -> dict[int, int]:
        """Give the last batch of each lane."""
        ledgers = self.sink.ledgers()
        return {lane: ledgers[lane].terms().batch() for lane in ledgers}


def java_records(spark: SparkSession, records: dict[int, Any]) -> Any:
    """Give records by lane as Java has them."""
    made = java_map(spark, {})
    for lane, record in records.items():
        made.put(lane, record)
    return made


def refusal(error: Py4JJavaError) -> HeadraceError:
    """Give the named error behind what the JVM has thrown."""
    named = named_failure(str(error))
    assert named is not None, error
    return named
