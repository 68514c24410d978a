"""Kafka keeps the contract of sinks, on a real broker and through a real pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from headrace import Pipeline, Stream, sinks
from headrace._spark import running_count
from headrace.sinks import KafkaSink
from headrace.testing import SinkContract, SinkRow
from support.harness.copying import Copying, read_rows

_NUMBERS = count(1)


class TestKafka(SinkContract):
    @pytest.fixture(autouse=True)
    def new_topics(self, spark: SparkSession, bootstrap: str, tmp_path: Path) -> None:
        name = f"contract-{next(_NUMBERS)}"
        self._bootstrap = bootstrap
        self._sink = sinks.kafka(f"{name}.out", key="key")
        self._copying = Copying(
            spark,
            bootstrap,
            tmp_path,
            name,
            lambda pipeline, rows: pipeline.write("copy", rows, self._sink),
        )

    @property
    def sink(self) -> KafkaSink:
        return self._sink

    def write(self, batch: int, rows: Sequence[SinkRow]) -> None:
        self._copying.deliver(batch, rows)

    def fail_before_commit(self, batch: int, rows: Sequence[SinkRow]) -> None:
        self._copying.fail(batch, rows)
        sent = read_rows(
            self._bootstrap, self._sink.topic, isolation="read_uncommitted"
        )
        assert set(rows) <= set(sent), "the rows were not on the broker"

    def rows(self) -> list[SinkRow]:
        return read_rows(self._bootstrap, self._sink.topic)


def test_outputs_that_share_a_topic_share_the_transaction_and_the_order_of_keys(
    spark: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    name = f"contract-{next(_NUMBERS)}"

    def declare(pipeline: Pipeline, rows: Stream) -> None:
        even, odd = rows.where("number % 2 = 0"), rows.where("number % 2 = 1")
        pipeline.write("even", even, sinks.kafka(f"{name}.out"))
        pipeline.write("odd", odd, sinks.kafka(f"{name}.out"))

    copying = Copying(spark, bootstrap, tmp_path, name, declare)
    batches = [[SinkRow("k", n) for n in range(s, s + 50)] for s in (0, 50)]
    copying.deliver(0, batches[0])

    copying.fail(1, batches[1])
    assert read_rows(bootstrap, f"{name}.out") == batches[0]
    report = copying.deliver(1, batches[1])
    copying.deliver(1, batches[1])

    assert report["rows"] == {"even": 25, "odd": 25, "dead-letters": 0}
    assert read_rows(bootstrap, f"{name}.out") == [*batches[0], *batches[1]]


def test_a_batch_that_is_held_leaves_its_state_to_the_next(
    spark: SparkSession, bootstrap: str, tmp_path: Path
) -> None:
    name = f"contract-{next(_NUMBERS)}"

    def counted(rows: DataFrame) -> DataFrame:
        counts = running_count(rows, "key")
        return counts.selectExpr("key", "count AS number", "CAST(NULL AS string) text")

    def declare(pipeline: Pipeline, rows: Stream) -> None:
        sink = sinks.kafka(f"{name}.out", key="key")
        pipeline.write("counts", rows.transform(counted), sink)

    copying = Copying(spark, bootstrap, tmp_path, name, declare)
    copying.attempt(0, [SinkRow("k", 0), SinkRow("k", 1)])
    for commit in (tmp_path / "checkpoint" / "commits").glob("*0*"):
        commit.unlink()

    report = copying.attempt(1, [SinkRow("k", 2)])

    assert (report["batches"], report["held_batches"]) == (2, 1)
    assert read_rows(bootstrap, f"{name}.out") == [SinkRow("k", 2), SinkRow("k", 3)]
