"""A join in a real streaming query, over the batches of a history.

All cases ride in one query, each on keys of its own. Each side is a source by itself.
The watermark is data: both hold a row whose `clock` is the watermark asked for.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace._spark.joins import join
from support.cases.join_cases import SIDES, History
from support.harness.trying import LAYOUT, WITHOUT_ROWS, forget_last_commit, settings
from support.models.join_model import Join, Pair, Row

NAME = "tried"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BEGINNING = EPOCH.isoformat()
COLUMNS = "number bigint, k string, at timestamp"
CARRIED = (
    "_origin struct<topic:string,partition:int,offset:bigint,timestamp:timestamp>, "
    "_dead struct<reason:string>"
)


@dataclass(frozen=True)
class Step:
    """A join as the bridge takes it."""

    terms: dict[str, Any]


@dataclass
class Given:
    """What a batch gave."""

    results: Counter[Pair] = field(default_factory=Counter)
    late: Counter[tuple[str, int, int | None]] = field(default_factory=Counter)
    missing: Counter[int] = field(default_factory=Counter)
    dead: int = 0


@dataclass
class Trial:
    """A query over files, one of each side for a batch."""

    spark: SparkSession
    home: Path
    history: History
    native: bool = False
    given: dict[int, Given] = field(default_factory=dict)
    progress: dict[int, Any] = field(default_factory=dict)

    def run(self) -> None:
        """Run all of the history."""
        with settings(self.spark, self._settings):
            for number, then in enumerate(self.history.then):
                for side in SIDES:
                    self._write(number, side)
                if then != "batch":
                    self._query()
                if then == "crash":
                    self._crash()
            self._query()

    @property
    def _settings(self) -> dict[str, str]:
        without_rows = str(self.history.batches_without_rows).lower()
        return {
            WITHOUT_ROWS: without_rows,
            # Each partition has a state store, and those take most of a small batch.
            LAYOUT: "1",
        }

    def _write(self, number: int, side: str) -> None:
        rows: list[dict[str, Any]] = [{"clock": iso(self.history.clocks[number])}]
        rows += [{"clock": BEGINNING, **line} for line in self._lines(number, side)]
        source = self.home / side
        source.mkdir(exist_ok=True)
        path = source / f"{number}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # Spark takes the oldest file first, and two written at once are of one age.
        os.utime(path, (number, number))

    def _lines(self, number: int, side: str) -> list[dict[str, Any]]:
        """Give what a batch holds of a side."""
        rows = [line_of(r) for r in self.history.rows[number] if r.side == side]
        dead = {"_dead": {"reason": "json-malformed"}, "_origin": {"topic": side}}
        return [*rows, *[dead] * self.history.dead[number]]

    def _side(self, side: str, columns: str = f"{COLUMNS}, {CARRIED}") -> DataFrame:
        return (
            self.spark.readStream.schema(f"clock timestamp, {columns}")
            .option("maxFilesPerTrigger", "1")
            .json(str(self.home / side))
            .withWatermark("clock", "0 seconds")
            # By the clock: any other condition would keep its rows from the watermark.
            .where(f"clock = timestamp'{BEGINNING}'")
            .drop("clock")
        )

    def _told(self) -> DataFrame:
        step = self.history.step
        side = {"key": ["k"], "time": "at"}
        terms = {
            "name": NAME,
            "kind": step.kind,
            "left": side,
            "right": side,
            "from_us": step.least,
            "to_us": step.most,
            "keep_late": step.late != "drop",
            "behind_us": None,
        }
        left, right = (self._side(s).selectExpr("*", "0 as _read") for s in SIDES)
        return join(left, right, Step(terms), native=self.native)

    def _query(self) -> None:
        query = (
            self._told()
            .selectExpr(
                "_kind", "_left", "_right", "late_by_ms", "_dead.reason as reason"
            )
            .writeStream.option("checkpointLocation", str(self.home / "checkpoint"))
            .trigger(availableNow=True)
            .foreachBatch(self._keep)
            .start()
        )
        query.awaitTermination()
        for progress in query.recentProgress:
            # Spark also reports that it has nothing to do.
            if progress["batchId"] in self.given:
                self.progress[progress["batchId"]] = progress

    def _keep(self, rows: DataFrame, batch: int) -> None:
        given = Given()
        for row in rows.collect():
            left, right = row["_left"], row["_right"]
            match row["_kind"]:
                case 0:
                    given.results[_number(left), _number(right)] += 1
                case 1:
                    given.late["left", left["number"], row["late_by_ms"]] += 1
                case 4 if right is None:
                    given.missing[left["number"]] += 1
                case 4:
                    given.late["right", right["number"], row["late_by_ms"]] += 1
                case _:
                    assert row["reason"] == "json-malformed"
                    given.dead += 1
        assert self.given.setdefault(batch, given) == given, "a repeated batch differs"

    def _crash(self) -> None:
        """Die before Spark has noted the last batch, and begin again."""
        last = forget_last_commit(self.home / "checkpoint")
        del self.progress[last]
        self._query()
        assert last in self.progress, "the last batch was not repeated"


def try_history(
    spark: SparkSession, home: Path, history: History, *, native: bool = False
) -> Trial:
    """Run a history in Spark and by the model, and compare them batch by batch."""
    trial = Trial(spark, home, history, native)
    trial.run()
    step = history.step
    model = Join(step)
    files = iter(range(len(history.rows)))
    waiting = unmatched = missed = 0
    for number, progress in sorted(trial.progress.items()):
        file = next(files) if progress["numInputRows"] else None
        rows = [] if file is None else history.rows[file]
        dead = 0 if file is None else 2 * history.dead[file]
        told = model.batch(rows, watermark_of(progress))
        given = trial.given[number]
        assert given.results == told.results, difference(number, given, told.results)
        assert given.late == told.late, f"batch {number}: late rows differ"
        assert given.dead == dead, f"batch {number}: dead letters differ"
        metric = progress["observedMetrics"].get(f"join.{NAME}")
        if metric is None:
            assert not told.counts, f"batch {number} has reported nothing"
            continue
        assert metric["in"] == told.counts["in"] + dead
        assert metric["late"] == told.counts["late"]
        assert metric["dead_letters"] == dead
        assert metric["results"] == sum(told.results.values())
        if native:
            on_time = told.counts["in"] - told.counts["late"]
            assert metric["on_time"] == on_time
            continue
        waiting += metric["waiting"]
        if step.kind in {"semi", "anti"}:
            # A left row that is decided meets no more right ones, which are not told.
            continue
        assert metric["matched"] == told.counts["matched"]
        unmatched += told.counts["unmatched"]
        missed += metric["unmatched"]
        # What is not told may be counted when its shelf is cleared.
        assert missed == unmatched or (missed < unmatched and step.kind != "full")
        assert waiting == model.waiting + unmatched - missed
    assert next(files, None) is None, "not all batches were run"
    assert native or (waiting, missed) == (0, unmatched)
    last = trial.progress[max(trial.progress)]["stateOperators"][0]
    assert last["numRowsTotal"] == 0, "rows are kept that nobody waits for"
    return trial


def line_of(row: Row) -> dict[str, Any]:
    """Write a row as its source has it."""
    line: dict[str, Any] = {"number": row.number, "k": row.key}
    if row.at is not None:
        line["at"] = (EPOCH + timedelta(microseconds=row.at)).isoformat()
    return line


def iso(millis: int) -> str:
    """Write a time in milliseconds."""
    return (EPOCH + timedelta(milliseconds=millis)).isoformat()


def watermark_of(progress: Any) -> int:
    """Give the watermark of a batch, in milliseconds."""
    shown = datetime.fromisoformat(progress["eventTime"]["watermark"])
    return round((shown - EPOCH).total_seconds() * 1000)


def _number(row: Any) -> int | None:
    found: int | None = None if row is None else row["number"]
    return found


def difference(number: int, given: Given, expected: Counter[Pair]) -> str:
    """Say how the results of a batch differ."""
    more, less = given.results - expected, expected - given.results
    return (
        f"batch {number}: {len(more)} too many, {len(less)} too few\n"
        f"{list(more)[:3]}, by the model {list(less)[:3]}"
    )
