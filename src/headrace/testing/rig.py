"""The rig: run a pipeline on in-memory input, batch by batch, and look at it."""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sql

from headrace.errors import StepError
from headrace.plan.outgoing import outgoing
from headrace.plan.steps import Read, source_topics
from headrace.runtime.coding import decoded, json_encoder
from headrace.runtime.run import require_outputs
from headrace.schema.origin import declared_at
from headrace.schema.types import FieldType, ListOf, Real, Record
from headrace.schema.values import to_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.pipeline import Pipeline

_KAFKA_COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "timestamp timestamp, headers array<struct<key:string,value:binary>>"
)


@dataclass(frozen=True)
class DeadLetter:
    """An input that could not be read: its bytes, the reason, and where it was."""

    value: bytes | None
    reason: str
    detail: str
    topic: str
    partition: int
    offset: int


class Rig:
    """Runs a pipeline without Kafka: what is fed goes through the real plan.

    Each `feed` is a batch of its own. The checkpoint is a real one, so `restart` and
    `crash` do to it what they do in production.

    Args:
        pipeline: The pipeline under test.
        spark: A session from `headrace.testing.session` or the shared fixture.

    Example:
        ``with Rig(fraud, spark) as rig: rig.feed("transactions", payment)``
    """

    def __init__(self, pipeline: Pipeline, spark: SparkSession) -> None:
        require_outputs(pipeline)
        self._pipeline = pipeline
        self._spark = spark
        self._home = Path(tempfile.mkdtemp(prefix="headrace-rig-"))
        self._fed: Counter[str] = Counter()
        self._sources = set(source_topics(pipeline.outputs))
        for topic in self._sources:
            self._input(topic).mkdir(parents=True)

    def __enter__(self) -> Rig:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove everything the rig has written."""
        shutil.rmtree(self._home)

    def feed(self, topic: str, *events: Any) -> None:
        """Append events to a topic and run the pipeline over them as one batch.

        Args:
            topic: A topic that the pipeline reads.
            events: Instances of the topic's event, or bytes as they are on the
                wire; None is a tombstone.

        Raises:
            StepError: [topic-not-read] the pipeline does not read the topic.
        """
        if topic not in self._sources:
            raise StepError(
                "topic-not-read",
                f'pipeline "{self._pipeline.name}" does not read topic "{topic}"',
                hint=f"it reads {', '.join(sorted(self._sources))}.",
                where=declared_at(),
            )
        rows = [self._row(topic, event) for event in events]
        number = len(list(self._input(topic).iterdir()))
        draft = self._home / "draft"
        draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
        draft.rename(self._input(topic) / f"{number:06}.json")
        self.run()

    def _row(self, topic: str, event: Any) -> dict[str, Any]:
        value = event if event is None or isinstance(event, bytes) else to_json(event)
        offset = self._fed[topic]
        self._fed[topic] += 1
        return {
            "value": None if value is None else base64.b64encode(value).decode(),
            "topic": topic,
            "partition": 0,
            "offset": offset,
            "timestamp": "2020-01-01T00:00:00Z",
            "headers": [],
        }

    def run(self) -> None:
        """Run the pipeline until it has caught up with its input."""
        frame = outgoing(self._pipeline.outputs, self._open, json_encoder)
        query = (
            frame.writeStream.foreachBatch(self._write)
            .option("checkpointLocation", str(self._checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    def _write(self, batch: DataFrame, number: int) -> None:
        """Keep a batch, unless it is held already: as a sink with a ledger does.

        The rows are computed either way, since Spark wants the state of every batch.
        """
        line = sql.to_json(sql.struct("*"), {"ignoreNullFields": "false"})
        lines = [row.line for row in batch.select(line.alias("line")).collect()]
        file = self._home / "out" / f"{number}.json"
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_text("".join(f"{line}\n" for line in lines))

    def restart(self) -> None:
        """Stop and start again on the same checkpoint; nothing may come of it."""
        self.run()

    def crash(self) -> None:
        """Die after the last batch was written and before Spark has noted it.

        The pipeline is started again and repeats that batch, and its output may not
        appear twice.
        """
        commits = sorted((self._checkpoint / "commits").glob("[0-9]*"), key=_number)
        if not commits:
            return
        commits[-1].unlink()
        (commits[-1].parent / f".{commits[-1].name}.crc").unlink(missing_ok=True)
        self.run()

    def rows(self, output: str, *columns: str) -> list[tuple[Any, ...]]:
        """Give what an output was sent, in order; without names, all columns.

        Values are as JSON has them, and decimals are exact.

        Raises:
            StepError: [output-unknown] the pipeline has no such output.
        """
        names = [declared.name for declared in self._pipeline.outputs]
        if output not in names:
            raise StepError(
                "output-unknown",
                f'pipeline "{self._pipeline.name}" has no output "{output}"',
                hint=f"it has {', '.join(names)}.",
                where=declared_at(),
            )
        index = names.index(output)
        schema = self._pipeline.outputs[index].step.columns
        found = []
        for record in self._records():
            if record["sink"] == index:
                text = base64.b64decode(record["value"])
                value = _with_floats(json.loads(text, parse_float=Decimal), schema)
                found.append(tuple(value[name] for name in columns or value))
        return found

    def dead_letters(self) -> list[DeadLetter]:
        """Give the inputs that could not be read."""
        index = len(self._pipeline.outputs)
        return [
            _dead_letter(record)
            for record in self._records()
            if record["sink"] == index
        ]

    def _records(self) -> list[dict[str, Any]]:
        """Read what the batches wrote, in their order."""
        batches = sorted((self._home / "out").glob("*.json"), key=_number)
        lines = [line for batch in batches for line in batch.read_text().splitlines()]
        return [json.loads(line) for line in lines]

    @property
    def _checkpoint(self) -> Path:
        return self._home / "checkpoint"

    def _input(self, topic: str) -> Path:
        return self._home / "in" / topic

    def _open(self, read: Read) -> DataFrame:
        rows = self._spark.readStream.schema(_KAFKA_COLUMNS).json(
            str(self._input(read.source.topic))
        )
        return decoded(rows, read, None, format_="json")


def _number(path: Path) -> int:
    return int(path.name.partition(".")[0])


def _with_floats(value: Any, type_: FieldType) -> Any:
    """Give floating-point numbers as such, where all numbers with a point are exact."""
    match type_:
        case Record() if isinstance(value, dict):
            kinds = {field.name: field.type for field in type_}
            return {name: _with_floats(v, kinds[name]) for name, v in value.items()}
        case ListOf() if isinstance(value, list):
            return [_with_floats(element, type_.element) for element in value]
        case Real() if isinstance(value, Decimal):
            return float(value)
    return value


def _dead_letter(record: dict[str, Any]) -> DeadLetter:
    headers = {
        header["key"]: base64.b64decode(header["value"]).decode()
        for header in record["headers"]
    }
    value = record["value"]
    return DeadLetter(
        value=None if value is None else base64.b64decode(value),
        reason=headers["headrace.reason"],
        detail=headers["headrace.detail"],
        topic=headers["headrace.origin.topic"],
        partition=int(headers["headrace.origin.partition"]),
        offset=int(headers["headrace.origin.offset"]),
    )
