"""Let the tables of a pipeline begin anew, and take what is gone from their topics.

A rebuilt table gives every row that it has once more. So what a topic held before, and
was not given again, is gone; and a rebuild that is broken off is begun anew.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from headrace.delivery.checkpoint import CheckpointLock, local_path
from headrace.errors import DeliveryError, LogError, StepError
from headrace.log import (
    Destination,
    EventWriter,
    Line,
    Reading,
    bounds_of,
    end_offsets,
    require_partitions,
)
from headrace.plan.changes import KeepTable, TableRows
from headrace.plan.groups import GroupTable
from headrace.plan.steps import Stateful, source_topics, walk
from headrace.plan.table_joins import JoinTables
from headrace.runtime.run import Conditions, follow, start
from headrace.runtime.topics import table_topics
from headrace.sinks import KafkaSink

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient
    from pyspark.sql import SparkSession

    from headrace.pipeline import Pipeline
    from headrace.runtime.progress import BatchProgress

_NOTE = ".rebuilding"


@dataclass(frozen=True)
class Rebuilt:
    """What came of a rebuild.

    Args:
        gone: How many rows were taken from each topic, as their tables lack them.
        aside: Where the checkpoint of before is kept; None if there was none.
    """

    gone: Mapping[str, int]
    aside: Path | None


class Rebuild:
    """The rebuilding of a pipeline's tables.

    Args:
        pipeline: The pipeline; it must not be running.
        conditions: How it is run; all of its input is read anew.
        admin: A client of the cluster.

    Raises:
        StepError: [rebuild-refused] something else than its tables would begin anew.
        LogError: [table-log-incomplete] a topic no longer holds the whole table.
    """

    def __init__(
        self, pipeline: Pipeline, conditions: Conditions, admin: AdminClient
    ) -> None:
        _require_tables_alone(pipeline)
        self._pipeline = pipeline
        self._admin = admin
        self._place = _checkpoint(conditions)
        self._conditions = replace(
            conditions,
            until_caught_up=True,
            # A table of many batches would give each row as it was in between, too.
            most_per_batch=None,
            adopt=conditions.adopt | {"checkpoint"},
        )
        for topic in source_topics(pipeline.outputs):
            _require_whole(admin, topic)

    def run(
        self, spark: SparkSession, tell: Callable[[BatchProgress], None], enough: Event
    ) -> Rebuilt:
        """Read everything anew, write every row, and take away what is gone.

        Raises:
            DeliveryError: [checkpoint-in-use] the pipeline runs;
                [rebuild-unfinished] it was broken off.
            HeadraceError: The named reason why the query could not go on.
        """
        topics = table_topics(self._pipeline)
        with CheckpointLock(str(self._place)):
            aside = self._begin()
        marks = {topic: self._ends(topic) for topic in topics}
        delivering = start(self._pipeline, spark, self._conditions)
        follow(delivering, tell, enough, outputs=self._pipeline.outputs)
        if enough.is_set():
            raise _unfinished(self._place)
        gone = {topic: self._sweep(topic, marks[topic]) for topic in topics}
        note(self._place).unlink()
        return Rebuilt(gone, aside)

    def _begin(self) -> Path | None:
        """Note what is begun, and put the checkpoint aside."""
        noted = note(self._place)
        if noted.exists():
            # Of a rebuild that was broken off: it holds nothing that is needed.
            shutil.rmtree(self._place, ignore_errors=True)
            before = json.loads(noted.read_text())["aside"]
            return None if before is None else Path(before)
        aside = _free(self._place) if self._place.exists() else None
        noted.write_text(json.dumps({"aside": None if aside is None else str(aside)}))
        if aside is not None:
            self._place.rename(aside)
        return aside

    def _ends(self, topic: str) -> dict[int, int]:
        numbers = require_partitions(self._admin, topic)
        return end_offsets(self._admin, topic, numbers)

    def _sweep(self, topic: str, marks: Mapping[int, int]) -> int:
        """Take away the rows that were there before and were not written again."""
        last: dict[tuple[int, bytes], tuple[int, bool]] = {}
        for batch in Reading(self._admin, self._conditions.bootstrap, topic):
            for event in batch:
                if event.key is not None:
                    place = event.partition, event.key
                    last[place] = event.offset, event.value is None
        gone: dict[int, list[bytes]] = {}
        for (partition, key), (offset, is_deleted) in last.items():
            if not is_deleted and offset < marks.get(partition, 0):
                gone.setdefault(partition, []).append(key)
        for partition, keys in gone.items():
            destination = Destination(topic, partition)
            writer = EventWriter(self._conditions.bootstrap, destination)
            writer.write_all(Line(n, key, None) for n, key in enumerate(keys))
            writer.finish()
        return sum(len(keys) for keys in gone.values())


def note(checkpoint: Path) -> Path:
    """Give the file that stands beside a checkpoint while its tables are rebuilt."""
    return checkpoint.with_name(checkpoint.name + _NOTE)


def require_rebuilt(checkpoint: str) -> None:
    """Refuse to run on a checkpoint whose rebuild was broken off.

    Raises:
        DeliveryError: [rebuild-unfinished] rows that are gone may still be in the
            outputs.
    """
    place = local_path(checkpoint)
    if place is not None and note(place).exists():
        raise _unfinished(place)


def _unfinished(place: Path) -> DeliveryError:
    return DeliveryError(
        "rebuild-unfinished",
        "the tables of this checkpoint were not rebuilt to the end",
        detail="the outputs may hold rows that are gone.",
        hint="run `headrace tables rebuild` again: it begins anew and harms nothing.",
        where=str(place),
    )


def _require_tables_alone(pipeline: Pipeline) -> None:
    steps = [step for output in pipeline.outputs for step in walk(output.step)]
    kept = [step for step in steps if isinstance(step, Stateful)]
    tables = KeepTable | JoinTables | GroupTable
    other = [step for step in kept if not isinstance(step, tables)]
    streams = [o for o in pipeline.outputs if not isinstance(o.step, TableRows)]
    strange = [o for o in pipeline.outputs if not isinstance(o.sink, KafkaSink)]
    if other:
        reason = f'{other[0].verb} "{other[0].name}" would lose its state'
    elif streams:
        reason = f'output "{streams[0].name}" is a stream, and would be written again'
    elif strange:
        reason = (
            f'output "{strange[0].name}" goes to {strange[0].sink.target}, which is '
            "not searched for rows that are gone"
        )
    else:
        return
    raise StepError(
        "rebuild-refused",
        f'the tables of pipeline "{pipeline.name}" cannot be rebuilt by themselves',
        detail=f"{reason}: a pipeline has one checkpoint.",
        hint="keep tables that are written to topics in a pipeline of their own, and "
        "read their topics in others.",
        where=pipeline.where,
    )


def _require_whole(admin: AdminClient, topic: str) -> None:
    bounds = bounds_of(admin, {topic: require_partitions(admin, topic)})[topic]
    cut = {p: begin for p, begin in bounds.begin.items() if begin > 0}
    if cut:
        partition, begin = next(iter(cut.items()))
        raise LogError(
            "table-log-incomplete",
            f'topic "{topic}" no longer holds the whole table',
            detail=f"partition {partition} begins at offset {begin}: what was before "
            "is removed, and with it the rows that have not changed since.",
            hint="have the table captured anew, into a topic that is compacted or "
            "keeps everything.",
        )


def _checkpoint(conditions: Conditions) -> Path:
    place = local_path(conditions.checkpoint)
    if place is None:
        raise StepError(
            "rebuild-refused",
            "a checkpoint on another file system is not put aside",
            detail=f"{conditions.checkpoint} is not a directory of this machine.",
            hint="run it with a new --checkpoint and --adopt checkpoint; rows that are "
            "gone then stay in the outputs.",
        )
    return place


def _free(place: Path) -> Path:
    """Give a name beside a checkpoint that nothing has yet."""
    number = 1
    while (aside := place.with_name(f"{place.name}.before-{number}")).exists():
        number += 1
    return aside
