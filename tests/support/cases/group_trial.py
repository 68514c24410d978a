"""Groups in a real streaming query, beside the model.

All cases ride in one query, each on keys of its own. A planned pipeline runs over
files that hold the records of its topics; what each batch tells is held against the
difference between the model's groups before it and after it.
"""

from __future__ import annotations

import base64
import math
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from headrace import Pipeline
from headrace.plan.groups import GroupTable
from headrace.plan.lower import Lowering
from headrace.runtime.coding import decoded
from headrace.schema.values import to_json
from support.cases.group_cases import SHAPES, Batch, Tables, take
from support.cases.join_trial import Trial, iso
from support.cases.table_join_trial import KAFKA, START
from support.harness.trying import LAYOUT

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.plan.steps import Read, Step

TOPICS = ("items", "owners")


@dataclass
class History:
    """What comes, batch by batch, and what happens to the driver behind each."""

    shape: str
    batches: list[Batch]
    then: list[str]
    page_bytes: int | None = None
    partitions: int = 2

    @property
    def clocks(self) -> list[int]:
        return [START + 1000 * number for number in range(len(self.batches))]

    @property
    def batches_without_rows(self) -> bool:
        return False


def history(shape: str, batches: list[Batch], **more: int) -> History:
    """Give a history in which the driver dies in the middle and at the end."""
    then = ["batch"] * len(batches)
    then[len(batches) // 2] = then[-1] = "crash"
    return History(shape, batches, then, **more)


def eventful(shape: str, batches: list[Batch], seed: int, **more: int) -> History:
    """Give a history in which the driver stops and dies now and then."""
    chance = random.Random(f"{shape}/{seed}")  # noqa: S311 - a choice, no secret
    then = [chance.choice(["batch", "restart", "crash"]) for _ in batches]
    return History(shape, batches, then, **more)


@dataclass
class GroupTrial(Trial):
    """A query over files, whose plan is that of a declared table."""

    history: History  # type: ignore[assignment]
    offset: int = 0
    changes: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        table = SHAPES[self.history.shape].declare(Pipeline("tried"))
        self.key = table.key
        self.step = self._paged(table.step)

    def run(self) -> None:
        """Run all of the history."""
        for topic in TOPICS:
            (self.home / topic).mkdir()
        super().run()

    def _paged(self, step: Step) -> Step:
        pages = self.history.page_bytes
        if pages is None:
            return step
        assert isinstance(step, GroupTable)
        return replace(step, page_bytes=pages)

    @property
    def _settings(self) -> dict[str, str]:
        return super()._settings | {LAYOUT: str(self.history.partitions)}

    def _lines(self, number: int, side: str) -> list[dict[str, Any]]:
        lines = []
        topic = TOPICS[0] if side == "left" else TOPICS[1]
        for key, row in self.history.batches[number][topic]:
            value = None if row is None else _base64(to_json(row))
            lines.append(
                {
                    "key": _base64(key.encode()),
                    "value": value,
                    "topic": topic,
                    "partition": 0,
                    "offset": self.offset,
                    "timestamp": iso(self.history.clocks[number]),
                }
            )
            self.offset += 1
        return lines

    def _told(self) -> DataFrame:
        return Lowering(self._open).frame(self.step)

    def _open(self, read: Read) -> DataFrame:
        side = "left" if read.topic == TOPICS[0] else "right"
        return decoded(self._side(side, KAFKA), read, None)

    def _query(self) -> None:
        query = (
            self._told()
            .select("before", "after", "position", "changed_at", "_dead")
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
        assert repr(before) == repr(found), "a repeated batch differs"


def try_history(spark: SparkSession, home: Path, history: History) -> GroupTrial:
    """Run a history in Spark and by the model, and compare them batch by batch."""
    trial = GroupTrial(spark, home, history)
    trial.run()
    tables: Tables = {topic: {} for topic in TOPICS}
    known: dict[Any, Any] = {}
    files = iter(history.batches)
    for number, progress in sorted(trial.progress.items()):
        if progress["numInputRows"]:
            take(tables, next(files))
        wanted = SHAPES[history.shape].mean(tables)
        _apply(known, trial.changes[number], trial.key, number)
        expected = {key: _plain(row) for key, row in wanted.items()}
        assert known == expected, _difference(number, known, expected)
    assert next(files, None) is None, "not all batches were run"
    assert known == {}
    last = trial.progress[max(trial.progress)]["stateOperators"][0]
    assert last["numRowsTotal"] == 0, "state is left though all rows are deleted"
    return trial


def _apply(
    known: dict[Any, Any],
    changes: list[dict[str, Any]],
    key: tuple[str, ...],
    number: int,
) -> None:
    changed = set()
    for change in changes:
        assert change["_dead"] is None
        before, after = _plain(change["before"]), _plain(change["after"])
        row = after or before or {}
        at = tuple(row[name] for name in key)
        assert at not in changed, f"batch {number}: {at} changes twice"
        changed.add(at)
        assert before != after, f"batch {number}: {at} does not change"
        assert known.pop(at, None) == before, f"batch {number}: {at} was other"
        if after is not None:
            known[at] = after


def _plain(row: dict[str, Any] | None) -> dict[str, Any] | None:
    """Give a row that equals another one with the same values, NaN among them."""
    if row is None:
        return None
    return {
        name: "NaN" if isinstance(value, float) and math.isnan(value) else value
        for name, value in row.items()
    }


def _difference(number: int, found: dict[Any, Any], wanted: dict[Any, Any]) -> str:
    for key in {*found, *wanted}:
        one, other = found.get(key), wanted.get(key)
        if one != other and one is not None and other is not None:
            names = [name for name in other if one.get(name) != other[name]]
            shown = [(name, one.get(name), other[name]) for name in names]
            return f"batch {number}: {key} has {shown[:3]}"
        if one != other:
            return f"batch {number}: {key} is {one}, by the model {other}"
    return ""


def _base64(given: bytes) -> str:
    return base64.b64encode(given).decode()
