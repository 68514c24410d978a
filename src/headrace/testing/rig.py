"""The rig: run a pipeline on in-memory input, batch by batch, and look at it."""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as sql

from headrace.delivery import named_failure
from headrace.errors import StepError
from headrace.plan.clock import Clocks, Hands
from headrace.plan.outgoing import outgoing
from headrace.plan.steps import Read, source_topics
from headrace.plan.surroundings import Surroundings
from headrace.runtime.coding import decoded
from headrace.runtime.run import require_outputs
from headrace.schema.origin import declared_at
from headrace.schema.values import to_json
from headrace.testing.records import (
    BEGINNING,
    DeadLetter,
    Tombstone,
    dead_letter,
    key_of,
    time_of,
    with_floats,
)
from headrace.testing.rig_sinks import RigSinks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.pipeline import Pipeline
    from headrace.sinks import Servers

_KAFKA_COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "timestamp timestamp, headers array<struct<key:string,value:binary>>"
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ATTEMPTS = 5
# What Kafka gives for a record that has no timestamp.
_UNTOLD = _EPOCH - timedelta(milliseconds=1)


class Rig:
    """Runs a pipeline without Kafka: what is fed goes through the real plan.

    Each `feed` is a batch of its own; where it moves the watermark, further ones
    follow it in which windows fire. The checkpoint is a real one, so `restart` and
    `crash` do to it what they do in production. Nothing depends on the time of day:
    the wall clock stands still but for `wait`.

    Whatever the sinks are, `rows` tells what they were sent. With `servers`, sinks
    other than Kafka are written as well; those in memory always are.

    Args:
        pipeline: The pipeline under test.
        spark: A session from `headrace.testing.session` or the shared fixture; sinks
            that are written need their artifacts in it.
        servers: Where the servers of sinks are, such as
            `headrace.services.addresses.Addresses`.

    Example:
        ``with Rig(fraud, spark) as rig: rig.feed("transactions", payment)``
    """

    def __init__(
        self, pipeline: Pipeline, spark: SparkSession, *, servers: Servers | None = None
    ) -> None:
        require_outputs(pipeline)
        self._sinks = RigSinks(pipeline, spark, servers)
        self._pipeline = pipeline
        self._spark = spark
        self._servers = servers
        self._home = Path(tempfile.mkdtemp(prefix="headrace-rig-"))
        self._fed: Counter[tuple[str, int]] = Counter()
        self._query: StreamingQuery | None = None
        self._now = BEGINNING
        self._moved_to = _EPOCH
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
        for _ in range(_ATTEMPTS):
            # Spark's maintenance may write a last snapshot of the state meanwhile.
            with suppress(OSError):
                shutil.rmtree(self._home)
            if not self._home.exists():
                return
        shutil.rmtree(self._home)

    def feed(
        self,
        topic: str,
        *events: Any,
        partition: int = 0,
        recorded_at: datetime | None = None,
    ) -> None:
        """Append events to a topic and run the pipeline over them as one batch.

        Args:
            topic: A topic that the pipeline reads.
            events: Instances of the topic's event, or bytes as they are on the
                wire; None is a record without a value, and `Tombstone("k")` one that
                names its key.
            partition: The partition to append them to.
            recorded_at: The records' own timestamp; by default each event's time.

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
        rows = [self._row(topic, event, partition, recorded_at) for event in events]
        number = len(list(self._input(topic).iterdir()))
        draft = self._home / "draft"
        draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
        draft.rename(self._input(topic) / f"{number:06}.json")
        self.run()

    def _row(
        self, topic: str, event: Any, partition: int, recorded_at: datetime | None
    ) -> dict[str, Any]:
        key = key_of(event)
        event = None if isinstance(event, Tombstone) else event
        is_raw = event is None or isinstance(event, bytes)
        value = event if is_raw else to_json(event)
        if recorded_at is None:
            recorded_at = _UNTOLD if is_raw else time_of(event)
        offset = self._fed[topic, partition]
        self._fed[topic, partition] += 1
        return {
            "key": None if key is None else base64.b64encode(key).decode(),
            "value": None if value is None else base64.b64encode(value).decode(),
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "timestamp": _utc(recorded_at).isoformat(),
            "headers": [],
        }

    def run(self) -> None:
        """Run the pipeline until it has caught up with its input.

        Raises:
            HeadraceError: The named reason why it cannot go on.
        """
        outputs = self._pipeline.outputs
        clocks = Clocks(outputs, hands=Hands(_ms(self._now), _ms(self._moved_to)))

        def opened(read: Read) -> DataFrame:
            return clocks.driving(self._open(read), read)

        around = Surroundings(str(self._checkpoint), self._servers)
        frame = outgoing(self._sinks.outputs, opened, self._sinks, around)
        self._sinks.open(self._checkpoint)
        query = (
            frame.writeStream.foreachBatch(self._write)
            .option("checkpointLocation", str(self._checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        self._query = query
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            named = named_failure(str(error), where=f'pipeline "{self._pipeline.name}"')
            if named is None:
                raise
            raise named from error
        finally:
            self._sinks.close()

    def _write(self, batch: DataFrame, number: int) -> None:
        """Keep a batch, unless it is held already: as a sink with a ledger does.

        The rows are computed either way, since Spark wants the state of every batch.
        """
        line = sql.to_json(sql.struct("*"), {"ignoreNullFields": "false"})
        with self._sinks.delivering(batch, number) as kept:
            lines = [row.line for row in kept.select(line.alias("line")).collect()]
        file = self._home / "out" / f"{number}.json"
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_text("".join(f"{line}\n" for line in lines))

    @property
    def watermark(self) -> datetime | None:
        """How far event time has come; None before any watermark."""
        commits = sorted((self._checkpoint / "commits").glob("[0-9]*"), key=_number)
        if not commits:
            return None
        _, told, *_ = commits[-1].read_text().splitlines()
        reached: int = json.loads(told)["nextBatchWatermarkMs"]
        return _EPOCH + timedelta(milliseconds=reached) if reached > 0 else None

    def advance(self, to: datetime | timedelta) -> None:
        """Move the watermark on, as if time had passed, and let windows fire.

        Args:
            to: Where to, or how far from where it is.

        Raises:
            StepError: [advance-refused] there is no watermark to move, or it would
                go back.
        """
        before = self.watermark
        if isinstance(to, timedelta):
            if before is None:
                raise _advance_refused("there is no watermark yet to count from")
            to = before + to
        to = _utc(to)
        if before is not None and to < before:
            raise _advance_refused(f"the watermark is at {before} and cannot go back")
        self._moved_to = to
        self.run()
        if self.watermark is None:
            raise _advance_refused("no step of the pipeline follows event time")

    def wait(self, duration: timedelta) -> None:
        """Let time pass on the wall clock, by which partitions become idle.

        What comes of it shows with the next batch.
        """
        self._now += duration

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

        Values are as JSON has them, and decimals are exact. Of a table these are
        the rows that were inserted or updated; `table` gives those that it has.

        Raises:
            StepError: [output-unknown] the pipeline has no such output.
        """
        return [
            tuple(value[name] for name in columns or value)
            for _, value in self._sent(output)
            if value is not None
        ]

    def table(self, output: str, *columns: str) -> dict[str | None, tuple[Any, ...]]:
        """Give the rows that a keyed output holds by now, by the texts of their keys.

        Raises:
            StepError: [output-unknown] the pipeline has no such output.
        """
        found: dict[str | None, tuple[Any, ...]] = {}
        for raw, value in self._sent(output):
            # A key of bytes need not be a text, and is shown as far as it is one.
            key = None if raw is None else raw.decode(errors="backslashreplace")
            found.pop(key, None)
            if value is not None:
                found[key] = tuple(value[name] for name in columns or value)
        return found

    def _sent(self, output: str) -> Iterator[tuple[bytes | None, Any]]:
        """Give the keys and values that an output was sent; None for a deletion."""
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
        for record in self._records():
            if record["sink"] == index:
                key = record["key"]
                value = record["value"]
                if value is not None:
                    read = json.loads(base64.b64decode(value), parse_float=Decimal)
                    value = with_floats(read, schema)
                yield None if key is None else base64.b64decode(key), value

    def dead_letters(self) -> list[DeadLetter]:
        """Give the inputs that could not be read."""
        index = len(self._sinks.outputs)
        return [
            dead_letter(record) for record in self._records() if record["sink"] == index
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
            str(self._input(read.topic))
        )
        return decoded(rows, read, None, format_="json")


def _utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _ms(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(milliseconds=1)


def _advance_refused(why: str) -> StepError:
    return StepError(
        "advance-refused",
        why,
        hint="feed events with a time first, or advance to a later time.",
        where=declared_at(),
    )


def _number(path: Path) -> int:
    return int(path.name.partition(".")[0])
