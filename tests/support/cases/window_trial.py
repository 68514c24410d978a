"""A window step in a real streaming query, over the batches of a history.

All cases of a history ride in one query, each on a key of its own. The watermark is
data: a batch holds a row whose `clock` is the watermark that it asks for, so it moves
as the history says, whatever the times of the events are.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from headrace._spark import bridge
from support.cases.window_cases import History
from support.harness.trying import LAYOUT, WITHOUT_ROWS, forget_last_commit, settings
from support.models.window_model import Event, Pane, Windowing, iso
from support.models.window_model_aggregates import AGGREGATES, HAVINGS
from support.models.window_model_terms import EPOCH

NAME = "tried"
BEGINNING = iso(0)
COLUMNS = (
    "case_number bigint, number bigint, at timestamp, amount bigint, word string, "
    "begins timestamp, ends timestamp"
)
CARRIED = (
    "_origin struct<topic:string,partition:int,offset:bigint,timestamp:timestamp>, "
    "_dead struct<reason:string>"
)


@dataclass(frozen=True)
class Step:
    """A window step as the bridge takes it."""

    terms: dict[str, Any]
    by: tuple[str, ...] = ("case_number",)
    engine: str = "operator"


def terms(step: Windowing, parts: int = 0) -> dict[str, Any]:
    """Write a step as the operator reads it, spread over some parts."""
    aggregates = [AGGREGATES[name].sql for name in step.aggregates]
    names = list(step.aggregates)
    if step.having:
        aggregates.append(HAVINGS[step.having].sql)
        names.append("_having")
    assigned = step.kind == "assigned"
    return {
        "name": NAME,
        "kind": step.kind,
        "size_us": step.size,
        "every_us": step.every or step.size,
        "offset_us": step.offset,
        "gap_us": step.gap,
        "count": step.count,
        "start": "begins" if assigned else None,
        "end": "ends" if assigned else None,
        "by": ["case_number"],
        "time": "at" if step.timed else None,
        "names": names,
        "aggregates": aggregates,
        "having": step.having is not None,
        "early_events": step.early_events,
        "early_time_us": step.early_time,
        "panes": step.panes,
        "allowed_us": step.allowed,
        "keep_late": step.late != "drop",
        "spread": parts,
        # So few that many cases share one.
        "buckets": 5,
    }


@dataclass(frozen=True)
class LateRow:
    """An event of the side output, by its number; `kept` is what is left of it."""

    number: int
    late_by_ms: int | None
    kept: tuple[Any, ...]

    def turn(self) -> tuple[bool, int]:
        """Give what to sort by: those without a time are in no order of their key."""
        timed = self.late_by_ms is not None
        return timed, 0 if timed else self.number


@dataclass
class Given:
    """What a batch gave: panes and late events by case, and the dead letters."""

    panes: defaultdict[int, list[Pane]] = field(
        default_factory=lambda: defaultdict(list)
    )
    late: defaultdict[int, list[LateRow]] = field(
        default_factory=lambda: defaultdict(list)
    )
    dead: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True)
class Ran:
    """A batch as Spark ran it; `file` is the history's, None if it had no rows."""

    id: int
    watermark: int
    file: int | None
    progress: Any

    def counted(self, what: str) -> int | None:
        """Give one of the operator's counts; None if the batch has not reported it."""
        metric = self.progress["observedMetrics"].get(f"window.{NAME}")
        return None if metric is None else metric[what]


@dataclass
class Trial:
    spark: SparkSession
    home: Path
    history: History
    engine: str = "operator"
    given: dict[int, Given] = field(default_factory=dict)
    progress: dict[int, Any] = field(default_factory=dict)
    numbers: dict[tuple[int, Event], int] = field(default_factory=dict)

    def run(self) -> list[Ran]:
        """Run all of the history; give its batches as they ran."""
        with settings(self.spark, self._settings):
            for number, then in enumerate(self.history.then):
                self._write(number)
                if then != "batch":
                    self._query()
                if then == "crash":
                    self._crash()
            self._query()
        files = iter(range(len(self.history.rows)))
        return [
            Ran(
                number,
                _watermark(progress),
                next(files) if progress["numInputRows"] else None,
                progress,
            )
            for number, progress in sorted(self.progress.items())
        ]

    @property
    def _settings(self) -> dict[str, str]:
        without_rows = str(self.history.batches_without_rows).lower()
        return {
            WITHOUT_ROWS: without_rows,
            # Each partition has a state store, and those take most of a small batch.
            LAYOUT: "3" if self.history.parts else "1",
        }

    def _write(self, number: int) -> None:
        rows: list[dict[str, Any]] = [
            {"clock": iso(self.history.clocks[number] * 1000)}
        ]
        for case, events in self.history.rows[number].items():
            for event in events:
                self.numbers[case, event] = len(self.numbers)
                rows.append(self._row(case, event))
        for dead in range(self.history.dead[number]):
            place = {"topic": "dead", "partition": number, "offset": dead}
            dead_row = {"_origin": place, "_dead": {"reason": "json-malformed"}}
            rows.append({"clock": BEGINNING, **dead_row})
        source = self.home / "source"
        source.mkdir(exist_ok=True)
        path = source / f"{number}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # Spark takes the oldest file first, and two written at once are of one age.
        os.utime(path, (number, number))

    def _row(self, case: int, event: Event) -> dict[str, Any]:
        times = {"at": event.at, "begins": event.begins, "ends": event.ends}
        return {
            "clock": BEGINNING,
            "case_number": case,
            "number": self.numbers[case, event],
            "amount": event.amount,
            "word": event.word,
            **{name: iso(at) for name, at in times.items() if at is not None},
            "_origin": {
                "topic": event.topic,
                "partition": event.partition,
                "offset": event.offset,
            },
        }

    def _query(self) -> None:
        rows = (
            self.spark.readStream.schema(f"clock timestamp, {COLUMNS}, {CARRIED}")
            .option("maxFilesPerTrigger", "1")
            .json(str(self.home / "source"))
            .withWatermark("clock", "0 seconds")
            # By the clock: any other condition would keep its rows from the watermark.
            .where(f"clock = timestamp'{BEGINNING}'")
            .drop("clock")
            .selectExpr("*", "0 as _read")
        )
        told = terms(self.history.step, self.history.parts)
        step = Step(told, engine=self.engine)
        query = (
            self._flat(bridge.window(rows, step))
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

    def _flat(self, given: DataFrame) -> DataFrame:
        shown = ["pane", "pane_number", "is_final", "is_retraction", "_place"]
        return given.selectExpr(
            "_kind",
            "coalesce(_pane.case_number, _event.case_number) as case_number",
            "unix_micros(_pane.window_start) as start",
            "unix_micros(_pane.window_end) as end",
            *(
                f"_pane.`{name}` as `value_{name}`"
                for name in self.history.step.aggregates
            ),
            *(f"_pane.{name}" for name in shown),
            "late_by_ms",
            "_event.number",
            "array(unix_micros(_event.at), _event.amount) as numbers",
            "_event.word",
            "_event._origin.partition",
            "_event._dead.reason",
        )

    def _keep(self, rows: DataFrame, batch: int) -> None:
        given = Given()
        for row in rows.collect():
            match row["_kind"]:
                case 0:
                    given.panes[row["case_number"]].append(self._pane(row))
                case 1:
                    kept = (*row["numbers"], row["word"])
                    late = LateRow(row["number"], row["late_by_ms"], kept)
                    given.late[row["case_number"]].append(late)
                case _:
                    assert row["reason"] == "json-malformed"
                    given.dead[row["partition"]] += 1
        if self.engine == "native":
            # Spark's own aggregate gives the windows of a batch in no order.
            for panes in given.panes.values():
                panes.sort(key=lambda pane: (pane.end, pane.start))
        for late_rows in given.late.values():
            late_rows.sort(key=LateRow.turn)
        assert self.given.setdefault(batch, given) == given, "a repeated batch differs"

    def _pane(self, row: Row) -> Pane:
        return Pane(
            row["start"],
            row["end"],
            tuple(row[f"value_{name}"] for name in self.history.step.aggregates),
            row["pane"],
            row["pane_number"],
            row["is_final"],
            row["is_retraction"],
            row["_place"],
        )

    def _crash(self) -> None:
        """Die before Spark has noted the last batch, and begin again."""
        last = forget_last_commit(self.home / "checkpoint")
        del self.progress[last]
        self._query()
        assert last in self.progress, "the last batch was not repeated"


def _watermark(progress: Any) -> int:
    shown = datetime.fromisoformat(progress["eventTime"]["watermark"])
    return round((shown - EPOCH).total_seconds() * 1000)
