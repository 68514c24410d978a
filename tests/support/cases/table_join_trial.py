"""A join of two tables in a real streaming query, beside two dictionaries.

All cases ride in one query, each on keys of its own. What is expected of a batch is
the difference between the joins of both tables before it and after it.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace._spark import bridge
from headrace._spark.joins import join_tables
from support.cases.join_trial import Step, Trial, iso

START = 1_772_359_200_000
KAFKA = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "timestamp timestamp, headers array<struct<key:string,value:binary>>"
)
Row = dict[str, Any]
Rows = dict[str, Row]


def _schema(*names: str) -> str:
    fields = [
        {"name": name, "type": "string", "nullable": name != "id", "metadata": {}}
        for name in names
    ]
    return json.dumps({"type": "struct", "fields": fields})


SCHEMAS = {"left": _schema("id", "ref", "word"), "right": _schema("id", "name")}


@dataclass
class History:
    """Batches of records of both topics: key, and row or None; and what follows."""

    kind: str
    by_key: bool
    batches: list[dict[str, list[tuple[str, Row | None]]]]
    then: list[str]
    clocks: list[int] = field(default_factory=list)
    batches_without_rows: bool = True


def history(seed: int, kind: str, by_key: bool, cases: int) -> History:
    """Give rows that come, change, go, and move from partner to partner."""
    chance = random.Random(f"{seed}/{kind}/{by_key}")  # noqa: S311
    batches = []
    for _ in range(8):
        batch: dict[str, list[tuple[str, Row | None]]] = {"left": [], "right": []}
        for case in range(cases):
            for _ in range(chance.choice([0, 1, 1, 2])):
                key = f"{case}/{chance.choice('abc')}"
                ref = chance.choice([None, *(f"{case}/{name}" for name in "aabc")])
                row = {"id": key, "ref": ref, "word": chance.choice("xyz")}
                gone = chance.random() < 0.25
                batch["left"].append((key, None if gone else row))
            for _ in range(chance.choice([0, 0, 1, 2])):
                key = f"{case}/{chance.choice('abc')}"
                row = {"id": key, "name": chance.choice("mn")}
                gone = chance.random() < 0.25
                batch["right"].append((key, None if gone else row))
        batches.append(batch)
    then = [chance.choice(["batch"] * 5 + ["restart", "crash"]) for _ in batches]
    clocks = [START + 1000 * number for number in range(len(batches))]
    return History(kind, by_key, batches, then, clocks)


def joined(left: Rows, right: Rows, kind: str, by: str) -> Rows:
    """Join two tables by their definition."""
    found = {}
    for key, row in left.items():
        partner = right.get(row[by]) if row[by] is not None else None
        if partner is not None or kind != "inner":
            name = None if partner is None else partner["name"]
            found[key] = {**row, "name": name, "has_right": partner is not None}
    if kind == "full":
        for key, row in right.items():
            if key not in left:
                alone = {"id": key, "ref": None, "word": None, "name": row["name"]}
                found[key] = {**alone, "has_right": True}
    return found


@dataclass
class TablesTrial(Trial):
    """A query over files: each side's hold the records of a topic."""

    history: History  # type: ignore[assignment]
    offset: int = 0
    changes: dict[int, list[Any]] = field(default_factory=dict)

    def _lines(self, number: int, side: str) -> list[dict[str, Any]]:
        lines = []
        for key, row in self.history.batches[number][side]:
            value = None if row is None else _bytes(json.dumps(row))
            lines.append(
                {
                    "key": _bytes(key),
                    "value": value,
                    "topic": side,
                    "partition": 0,
                    "offset": self.offset,
                    "timestamp": iso(self.history.clocks[number]),
                }
            )
            self.offset += 1
        return lines

    def _told(self) -> DataFrame:
        tables = []
        for side, schema in SCHEMAS.items():
            options = {"format": "json", "tombstones": "keep", "key": "id"}
            changes = bridge.decode_upserts(self._side(side, KAFKA), schema, options)
            terms = {"name": side, "key": ["id"], "captured": False, "remembered_us": 0}
            tables.append(
                bridge.table(changes.selectExpr("*", "0 as _read"), Step(terms))
            )
        by = "id" if self.history.by_key else "ref"
        terms = {
            "name": "tried",
            "kind": self.history.kind,
            "left_on": [by],
            "right_on": ["id"],
            "left_key": ["id"],
        }
        told = join_tables(tables[0], tables[1], Step(terms))
        sides = [f"_{side}_{when}" for when in ("before", "after") for side in SCHEMAS]
        return told.selectExpr(
            *sides,
            "0 as _kind",
            "cast(null as string) as _left",
            "cast(null as string) as _right",
            "cast(null as bigint) as late_by_ms",
            "_dead",
        )

    def _query(self) -> None:
        query = (
            self._told()
            .writeStream.option("checkpointLocation", str(self.home / "checkpoint"))
            .trigger(availableNow=True)
            .foreachBatch(self._gather)
            .start()
        )
        query.awaitTermination()
        for progress in query.recentProgress:
            if progress["batchId"] in self.changes:
                self.progress[progress["batchId"]] = progress

    def _gather(self, rows: DataFrame, batch: int) -> None:
        found = [row.asDict(recursive=True) for row in rows.collect()]
        found.sort(key=repr)
        before = self.changes.setdefault(batch, found)
        assert before == found, "a repeated batch differs"


def try_history(spark: SparkSession, home: Path, history: History) -> int:
    """Compare the result batch by batch; give how many of its rows have changed."""
    trial = TablesTrial(spark, home, history)
    trial.run()
    left: Rows = {}
    right: Rows = {}
    known: Rows = {}
    files = iter(history.batches)
    count = 0
    for number, progress in sorted(trial.progress.items()):
        if progress["numInputRows"]:
            batch = next(files)
            for rows, side in ((left, "left"), (right, "right")):
                for key, row in batch[side]:
                    rows.pop(key, None)
                    if row is not None:
                        rows[key] = row
        by = "id" if history.by_key else "ref"
        wanted = joined(left, right, history.kind, by)
        changed: set[str] = set()
        for change in trial.changes[number]:
            before, after = _row(change, "before"), _row(change, "after")
            key = (after or before or {})["id"]
            assert key not in changed, f"batch {number}: {key} changes twice"
            changed.add(key)
            assert known.pop(key, None) == before, f"batch {number}: {key} was other"
            if after is not None:
                known[key] = after
        assert known == wanted, f"batch {number}: the result differs"
        count += len(changed)
    assert next(files, None) is None, "not all batches were run"
    return count


def _row(change: Mapping[str, Any], when: str) -> Row | None:
    left, right = change[f"_left_{when}"], change[f"_right_{when}"]
    if left is None and right is None:
        return None
    own = left or {"id": right["id"], "ref": None, "word": None}
    name = None if right is None else right["name"]
    return {**own, "name": name, "has_right": right is not None}


def _bytes(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
