"""A pipeline that copies rows batch by batch, each of which can come again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from pyspark.sql import SparkSession

from headrace import DeliveryError, Pipeline, Stream, event, kafka
from headrace.log import writer_settings
from headrace.runtime.run import Conditions, start
from headrace.schema.values import to_json
from headrace.sinks import KafkaSink, Servers
from headrace.testing import SinkRow
from support.harness.messages import value_of
from support.harness.waiting import wait_until


@event(key="key")
class Sent:
    key: str
    number: int
    text: str | None


# Less than a ledger record, more than the marker that ends a transaction.
_NO_RECORD = 100

# In each batch, so that one whose rows are all left out has something to read.
FILLER = Sent("", -1, None)


class Copying:
    """A pipeline over a topic of its own, whose batches can be delivered again."""

    def __init__(
        self,
        spark: SparkSession,
        bootstrap: str,
        home: Path,
        name: str,
        declare: Callable[[Pipeline, Stream], None],
        servers: Servers | None = None,
    ) -> None:
        self._servers = servers
        self._spark = spark
        self._bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._home = home
        self._input = f"{name}.in"
        self._progress = f"headrace.{name}.progress"
        self._fed: set[int] = set()
        self._pipeline = Pipeline(name)
        rows = self._pipeline.read(kafka(self._input, Sent)).where("number >= 0")
        declare(self._pipeline, rows)
        sinks = [output.sink for output in self._pipeline.outputs]
        outputs = {sink.topic: 3 for sink in sinks if isinstance(sink, KafkaSink)}
        own = {self._input: 1, self._pipeline.dead_letter_topic: 1, self._progress: 1}
        new = [NewTopic(topic, wide) for topic, wide in (outputs | own).items()]
        for made in self._admin.create_topics(new).values():
            made.result(30)

    def deliver(self, batch: int, rows: Sequence[SinkRow]) -> dict[str, Any]:
        """Deliver a batch, or deliver it again from the checkpoint it had then."""
        if self._kept(batch).exists():
            return self._again(batch)
        report = self.attempt(batch, rows)
        assert report["last_batch"] == batch, report
        shutil.copytree(self._checkpoint, self._kept(batch))
        _forget_commit(self._kept(batch), batch)
        return report

    def attempt(self, batch: int, rows: Sequence[SinkRow]) -> dict[str, Any]:
        """Let Spark run the batch once."""
        if batch not in self._fed:
            self._feed([*rows, FILLER])
            self._fed.add(batch)
        conditions = Conditions(
            self._bootstrap,
            str(self._checkpoint),
            until_caught_up=True,
            servers=self._servers,
        )
        delivering = start(self._pipeline, self._spark, conditions)
        delivering.await_end()
        return delivering.report()

    def fail(self, batch: int, rows: Sequence[SinkRow]) -> None:
        """Have the batch's rows taken, and the ledger record behind them refused."""
        self._refuse_records_above(_NO_RECORD)
        with pytest.raises(DeliveryError, match="larger than the max message size"):
            self.attempt(batch, rows)
        self._refuse_records_above(None)

    def _refuse_records_above(self, size: int | None) -> None:
        """Limit the records that the ledger's topic takes; None for what is usual."""
        name, topic = "max.message.bytes", self._progress
        how = AlterConfigOpType.SET if size else AlterConfigOpType.DELETE
        change = ConfigEntry(name, str(size), incremental_operation=how)
        changed = ConfigResource(
            ResourceType.TOPIC, topic, incremental_configs=[change]
        )
        self._admin.incremental_alter_configs([changed])[changed].result(30)

        def is_limited() -> bool:
            asked = ConfigResource(ResourceType.TOPIC, topic)
            found = self._admin.describe_configs([asked])[asked].result(30)
            return bool(found[name].value == str(_NO_RECORD))

        wait_until("the limit holds", lambda: is_limited() == bool(size))

    def _again(self, batch: int) -> dict[str, Any]:
        """Put an older copy of the checkpoint back, run on it, and take it away.

        Spark goes on with what came after the batch, which is there as well.
        """
        newest = self._home / "newest"
        self._checkpoint.rename(newest)
        shutil.copytree(self._kept(batch), self._checkpoint)
        report = self.attempt(batch, [])
        assert report["batches"] >= 1, "the batch did not come again"
        shutil.rmtree(self._checkpoint)
        newest.rename(self._checkpoint)
        return report

    @property
    def _checkpoint(self) -> Path:
        return self._home / "checkpoint"

    def _kept(self, batch: int) -> Path:
        return self._home / f"before-commit-{batch}"

    def _feed(self, rows: Sequence[SinkRow | Sent]) -> None:
        settings = {**writer_settings(self._bootstrap), "message.max.bytes": 2_000_000}
        producer = Producer(settings)
        for row in rows:
            producer.produce(self._input, to_json(row), key=row.key)
        assert producer.flush(30) == 0


def read_rows(
    bootstrap: str, topic: str, *, isolation: str = "read_committed"
) -> list[SinkRow]:
    """Give the rows of a topic, those of each key in order."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "contract",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
    )
    left = set(consumer.list_topics(topic, 30).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, number, 0) for number in left])
    rows = []
    while left:
        message = consumer.poll(30)
        assert message is not None, f"{topic} does not end"
        if message.error() is not None:
            left.discard(message.partition())
            continue
        value = json.loads(value_of(message))
        assert message.key() == value["key"].encode()
        rows.append(SinkRow(**value))
    consumer.close()
    return rows


def _forget_commit(checkpoint: Path, batch: int) -> None:
    (checkpoint / "commits" / str(batch)).unlink()
    (checkpoint / "commits" / f".{batch}.crc").unlink(missing_ok=True)
