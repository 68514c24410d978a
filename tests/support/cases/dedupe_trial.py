"""A dedupe in a real streaming query, and the same in plain Python."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from headrace._spark import bridge
from support.harness.trying import forget_last_commit

START = datetime(2026, 3, 1, 10, tzinfo=UTC)
MICROSECOND, MILLISECOND = timedelta(microseconds=1), timedelta(milliseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Deduping:
    name: str = "once"
    by: str = "id"
    time: str | None = "at"
    within: timedelta = timedelta(hours=1)


@dataclass(frozen=True)
class Arrival:
    """An event on its way in; `at` is counted from the start, None if it is dead."""

    number: int
    id: str | None
    at: timedelta | None
    partition: int = 0

    @property
    def micros(self) -> int:
        assert self.at is not None
        return (START + self.at - EPOCH) // MICROSECOND

    @property
    def row(self) -> dict[str, Any]:
        place = {"topic": "t", "partition": self.partition, "offset": self.number}
        if self.at is None:
            return {"_origin": place, "_dead": {"reason": "json-malformed"}}
        at = (START + self.at).isoformat()
        return {"number": self.number, "id": self.id, "at": at, "_origin": place}


Batches = Sequence[Sequence[Arrival]]


def model(batches: Batches, step: Deduping, out_of_order: timedelta) -> set[int]:
    """Give the numbers of the events that pass, by the words of the documentation."""
    passed: set[int] = set()
    remembered: list[tuple[str, int, int]] = []
    watermark = 0
    within, delay = step.within // MICROSECOND, out_of_order // MILLISECOND
    for batch in batches:
        living = [arrival for arrival in batch if arrival.at is not None]
        order = sorted(living, key=lambda a: (a.micros, a.partition, a.number))
        for arrival in order:
            if arrival.id is None:
                passed.add(arrival.number)
                continue
            repeats = any(
                known == arrival.id and abs(at - arrival.micros) <= within
                for known, at, until in remembered
                if watermark * 1000 <= until
            )
            if not repeats:
                passed.add(arrival.number)
                until = max(arrival.micros, watermark * 1000) + within
                # Watermarks have no microseconds: one of until's own counts as before.
                until += -until % 1000
                remembered.append((arrival.id, arrival.micros, until))
        latest = max((arrival.micros for arrival in living), default=0)
        watermark = max(watermark, latest // 1000 - delay)
    return passed


@dataclass
class Trial:
    """A query over files, one for a batch; `given` is what each batch gave, by id."""

    spark: SparkSession
    home: Path
    step: Deduping = Deduping()
    out_of_order: timedelta = timedelta(minutes=10)
    id_type: str = "string"
    buckets: int = bridge.BUCKETS
    given: dict[int, list[Any]] = field(default_factory=dict)
    progress: list[Any] = field(default_factory=list)

    def add(self, arrivals: Sequence[Arrival]) -> None:
        source = self.home / "source"
        source.mkdir(exist_ok=True)
        number = len(list(source.iterdir()))
        path = source / f"{number}.json"
        path.write_text("".join(json.dumps(a.row) + "\n" for a in arrivals))
        # Spark takes the oldest file first, and two written at once are of one age.
        os.utime(path, (number, number))

    def run(self) -> None:
        rows = (
            self.spark.readStream.schema(
                "number bigint, id string, at timestamp, _origin struct<topic:"
                "string,partition:int,offset:bigint,timestamp:timestamp>, "
                "_dead struct<reason:string>"
            )
            .option("maxFilesPerTrigger", "1")
            .json(str(self.home / "source"))
            .withColumn("id", sql.col("id").cast(self.id_type))
            .withWatermark("at", f"{self.out_of_order // MILLISECOND} milliseconds")
        )
        query = (
            bridge.dedupe(rows, self.step, buckets=self.buckets)
            .selectExpr("*", "spark_partition_id() as task")
            .writeStream.option("checkpointLocation", str(self.home / "checkpoint"))
            .trigger(availableNow=True)
            .foreachBatch(self._keep)
            .start()
        )
        query.awaitTermination()
        self.progress += query.recentProgress

    def _keep(self, rows: DataFrame, batch: int) -> None:
        given = sorted(rows.collect(), key=lambda row: row["_origin"]["offset"])
        assert self.given.setdefault(batch, given) == given, "a repeated batch differs"

    def crash(self) -> None:
        """Die before Spark has noted the last batch, and begin again."""
        last = forget_last_commit(self.home / "checkpoint")
        del self.progress[:]
        self.run()
        assert last in {progress["batchId"] for progress in self.progress}

    @property
    def rows(self) -> list[Any]:
        return [row for batch in sorted(self.given) for row in self.given[batch]]

    @property
    def numbers(self) -> set[int]:
        """The events that passed."""
        found = [row["number"] for row in self.rows if row["_dead"] is None]
        assert len(found) == len(set(found)), "an event has passed twice"
        return set(found)

    @property
    def known_ids(self) -> list[int]:
        """How many ids the state held after each batch."""
        return [p["stateOperators"][0]["numRowsTotal"] for p in self.progress]

    def counted(self, side: str, what: str) -> int:
        name = f"dedupe.{self.step.name}.{side}"
        return sum(p["observedMetrics"][name][what] for p in self.progress)
