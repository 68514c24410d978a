"""A join with a table in a real streaming query, over the batches of a history."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace._spark import bridge
from headrace._spark.joins import Stored, look_up, look_up_held
from headrace._spark.stored import last_batch, stored_rows
from support.cases.join_trial import (
    COLUMNS,
    EPOCH,
    NAME,
    Step,
    Trial,
    difference,
    watermark_of,
)
from support.cases.lookup_cases import History
from support.models.lookup_model import TIMELESS, LookUp

KAFKA = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "timestamp timestamp, headers array<struct<key:string,value:binary>>"
)
ROW = {
    "type": "struct",
    "fields": [
        {"name": "k", "type": "string", "nullable": False, "metadata": {}},
        {"name": "number", "type": "long", "nullable": False, "metadata": {}},
    ],
}
TABLE: dict[str, Any] = {
    "name": "rows",
    "key": ["k"],
    "captured": False,
    "every_change": True,
    "remembered_us": 0,
}


@dataclass
class LookupTrial(Trial):
    """A query over files: those of the left hold events, of the right changes."""

    history: History  # type: ignore[assignment]
    offset: int = 0

    def _lines(self, number: int, side: str) -> list[dict[str, Any]]:
        if side == "left":
            return [
                {"number": event.number, "k": event.key}
                | ({} if event.at is None else {"at": _time(event.at)})
                for event in self.history.events[number]
            ]
        lines = []
        for change in self.history.changes[number]:
            row = json.dumps({"k": change.key, "number": change.row})
            lines.append(
                {
                    "key": _bytes(change.key),
                    "value": None if change.row is None else _bytes(row),
                    "topic": "rows",
                    "partition": 0,
                    "offset": self.offset,
                    "timestamp": _time(change.at),
                }
            )
            self.offset += 1
        return lines

    def _told(self) -> DataFrame:
        step = self.history.step
        options = {"format": "json", "tombstones": "keep", "key": "k"}
        rows = self._side("right", KAFKA)
        changes = bridge.decode_upserts(rows, json.dumps(ROW), options)
        held = step.when == "broadcast"
        kept = Step(TABLE | {"every_change": not held})
        table = bridge.table(changes.selectExpr("*", "0 as _read"), kept)
        terms = {
            "name": NAME,
            "when": step.when,
            "missing": step.missing,
            "key": ["k"],
            "table_key": ["k"],
            "time": "at",
            "tells_missing": step.kind == "left",
            "grace_us": step.grace,
            "retention_us": step.retention,
            "keep_late": step.when not in TIMELESS,
            "most_bytes": 2**20,
            "behind_us": None,
            # Few, so that the keys of several cases are kept together.
            "buckets": 5,
        }
        carried = [
            f"cast(null as {table.schema[name].dataType.simpleString()}) as {name}"
            for name in ("_origin", "_dead")
        ]
        events = self._side("left", COLUMNS).selectExpr("*", *carried, "0 as _read")
        if held:
            return look_up_held(events, table, self._stored(table), Step(terms))
        return look_up(events, table, Step(terms))

    def _stored(self, table: DataFrame) -> Stored | None:
        """Give the rows of the last committed batch, as a query that starts does."""
        checkpoint = str(self.home / "checkpoint")
        batch = last_batch(self.spark, checkpoint)
        if batch < 0:
            return None
        row = table.schema["after"].dataType
        rows = stored_rows(self.spark, checkpoint, batch, TABLE["name"], row)
        return Stored(rows, batch)


def try_history(spark: SparkSession, home: Path, history: History) -> LookupTrial:
    """Run a history in Spark and by the model, and compare them batch by batch."""
    trial = LookupTrial(spark, home, history)
    trial.run()
    model = LookUp(history.step)
    files = iter(range(len(history.events)))
    waiting = 0
    for number, progress in sorted(trial.progress.items()):
        file = next(files) if progress["numInputRows"] else None
        events = [] if file is None else history.events[file]
        changes = [] if file is None else history.changes[file]
        told = model.batch(events, changes, watermark_of(progress))
        given = trial.given[number]
        assert given.results == told.results, difference(number, given, told.results)
        assert given.late == told.late, f"batch {number}: late events differ"
        assert given.missing == told.missing, f"batch {number}: others are missing"
        metric = progress["observedMetrics"].get(f"lookup.{NAME}")
        if metric is None:
            assert not told.counts, f"batch {number} has reported nothing"
            continue
        for name in ("in", "matched", "missing", "late"):
            assert metric[name] == told.counts[name], (number, name)
        assert metric["results"] == sum(told.results.values())
        waiting += metric["waiting"]
        assert waiting == model.waiting, f"batch {number}: others wait"
    assert next(files, None) is None, "not all batches were run"
    assert waiting == 0
    operators = trial.progress[max(trial.progress)]["stateOperators"]
    kept = [operator["numRowsTotal"] for operator in operators]
    assert set(kept) == {0}, "rows or events are kept that nobody asks for"
    return trial


def _time(micros: int) -> str:
    return (EPOCH + timedelta(microseconds=micros)).isoformat()


def _bytes(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
