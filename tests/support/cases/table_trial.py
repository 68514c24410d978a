"""Tables in a real streaming query, over the batches of a history.

All cases of a history ride in one query, each on keys of its own. The watermark is
that of the changes themselves, without a lag.
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace._spark import bridge
from support.cases.table_cases import History
from support.cases.table_wire import EPOCH, envelope, named
from support.harness.trying import LAYOUT, WITHOUT_ROWS, forget_last_commit, settings
from support.models.table_model import Change, Net, Row, Table

NAME = "tried"
ROW = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "string", "nullable": False, "metadata": {}},
        {"name": "amount", "type": "long", "nullable": False, "metadata": {}},
        {"name": "note", "type": "string", "nullable": True, "metadata": {}},
        {
            "name": "tags",
            "type": {"type": "array", "elementType": "string", "containsNull": False},
            "nullable": True,
            "metadata": {},
        },
    ],
}
KAFKA = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "timestamp timestamp, headers array<struct<key:string,value:binary>>"
)


@dataclass(frozen=True)
class Step:
    """A table as the bridge takes it."""

    terms: dict[str, Any]


@dataclass
class Trial:
    """A query over files, one for a batch; `given` is what each batch gave, by key."""

    spark: SparkSession
    home: Path
    history: History
    given: dict[int, dict[str, Net]] = field(default_factory=dict)
    progress: dict[int, Any] = field(default_factory=dict)

    def run(self) -> list[dict[str, Net]]:
        """Run all of the history; give the net changes of each of its batches."""
        with settings(self.spark, self._settings):
            for number, then in enumerate(self.history.then):
                self._write(number)
                if then != "batch":
                    self._query()
                if then == "crash":
                    self._crash()
            self._query()
        assert sorted(self.given) == list(range(len(self.history.batches)))
        return [self.given[number] for number in sorted(self.given)]

    def counted(self, what: str) -> int:
        """Give one of the operator's counts over all batches."""
        metrics = [p["observedMetrics"] for p in self.progress.values()]
        return sum(m[f"table.{NAME}"][what] for m in metrics if f"table.{NAME}" in m)

    @property
    def kept(self) -> set[str]:
        """The keys that the state knows in the end, deleted ones too."""
        state = (
            self.spark.read.format("statestore")
            .option("stateVarName", f"row-{NAME}")
            .load(str(self.home / "checkpoint"))
        )
        rows = state.select("key._key").collect()
        # The key is a packed row of one text: its offset and size, then its bytes.
        return {_text(bytes(row[0])) for row in rows}

    @property
    def _settings(self) -> dict[str, str]:
        return {
            WITHOUT_ROWS: "false",
            # Each partition has a state store, and those take most of a small batch.
            LAYOUT: "1",
        }

    def _write(self, number: int) -> None:
        rows = [
            self._record(case, change)
            for case, changes in self.history.batches[number].items()
            for change in changes
        ]
        source = self.home / "source"
        source.mkdir(exist_ok=True)
        path = source / f"{number}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # Spark takes the oldest file first, and two written at once are of one age.
        os.utime(path, (number, number))

    def _record(self, case: int, change: Change) -> dict[str, Any]:
        key = named(case, change.key)
        row = None if change.row is None else change.row | {"id": key}
        if self.history.way == "upserts":
            value = None if row is None else json.dumps(row).encode()
        else:
            value = envelope(change, key, row)
        at = EPOCH + timedelta(microseconds=change.at)
        return {
            "key": base64.b64encode(key.encode()).decode(),
            "value": None if value is None else base64.b64encode(value).decode(),
            "topic": "tried",
            "partition": change.partition,
            "offset": change.offset,
            "timestamp": at.isoformat(),
        }

    def _query(self) -> None:
        rows = (
            self.spark.readStream.schema(KAFKA)
            .option("maxFilesPerTrigger", "1")
            .json(str(self.home / "source"))
        )
        is_captured = self.history.way == "captured"
        if is_captured:
            changes = bridge.decode_captured(rows, json.dumps(ROW), NAME)
        else:
            options = {"format": "json", "tombstones": "keep", "key": "id"}
            changes = bridge.decode_upserts(rows, json.dumps(ROW), options)
        timed = changes.withWatermark("changed_at", "0 seconds")
        terms = {
            "name": NAME,
            "key": ["id"],
            "captured": is_captured,
            "remembered_us": self.history.remembered,
        }
        query = (
            bridge.table(timed.selectExpr("*", "0 as _read"), Step(terms))
            .selectExpr("*", "unix_micros(changed_at) as at")
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
        given: dict[str, Net] = {}
        for row in rows.collect():
            before, after = _plain(row["before"]), _plain(row["after"])
            key = (after or before or {})["id"]
            assert key not in given, "a key has two net changes"
            given[key] = Net(before, after, row["position"], row["at"])
        assert self.given.setdefault(batch, given) == given, "a repeated batch differs"

    def _crash(self) -> None:
        """Die before Spark has noted the last batch, and begin again."""
        last = forget_last_commit(self.home / "checkpoint")
        del self.progress[last]
        self._query()
        assert last in self.progress, "the last batch was not repeated"


def try_history(spark: SparkSession, home: Path, history: History) -> Trial:
    """Run a history in Spark and by the model, and compare them batch by batch."""
    trial = Trial(spark, home, history)
    found = trial.run()
    is_captured = history.way == "captured"
    cases = range(len(history.rows))
    tables = {c: Table(is_captured, history.remembered) for c in cases}
    watermark = 0
    for number, batch in enumerate(history.batches):
        expected: dict[str, Net] = {}
        for case, changes in batch.items():
            for key, net in tables[case].batch(changes, watermark).items():
                expected[named(case, key)] = _renamed(net, named(case, key))
        assert found[number] == expected, _difference(number, found[number], expected)
        times = [change.at // 1000 for changes in batch.values() for change in changes]
        # Nothing is forgotten but by the watermark that a batch begins with.
        watermark = max([watermark, *times])
    for case, rows in enumerate(history.rows):
        if rows is not None and case in history.batches[0]:
            assert tables[case].rows == rows, f"case {case} differs from its database"
    assert trial.counted("outdated") == sum(t.outdated for t in tables.values())
    known = {named(c, key) for c, table in tables.items() for key in table.kept}
    assert trial.kept == known, (len(trial.kept), len(known), trial.kept ^ known)
    return trial


def _renamed(net: Net, key: str) -> Net:
    rows = [
        None if row is None else row | {"id": key} for row in (net.before, net.after)
    ]
    return Net(rows[0], rows[1], net.position, net.at)


def _plain(row: Any) -> Row | None:
    return None if row is None else row.asDict()


def _text(packed: bytes) -> str:
    # Eight bytes of nulls, then the text's size and place in one number.
    told = int.from_bytes(packed[8:16], "little")
    start, size = told >> 32, told & 0xFFFFFFFF
    return packed[start : start + size].decode()


def _difference(number: int, found: dict[str, Net], expected: dict[str, Net]) -> str:
    keys = sorted(k for k in found | expected if found.get(k) != expected.get(k))
    told = [f"{k}: {found.get(k)}, by the model {expected.get(k)}" for k in keys[:3]]
    return f"batch {number}: {len(keys)} keys differ\n" + "\n".join(told)
