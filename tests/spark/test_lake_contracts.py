"""Sinks without a server keep the contract of sinks, through the real delivery."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from headrace import sinks
from headrace.errors import DeliveryError
from headrace.sinks import Sink, read_files, read_memory
from headrace.testing import SinkContract, SinkRow
from support.harness.handing import Handing, blocked


class LakeContract(SinkContract):
    """What the sinks of a lake have in common: how they are written and read."""

    @pytest.fixture(autouse=True)
    def new_place(self, spark: SparkSession, tmp_path: Path) -> None:
        self.spark = spark
        self.place = tmp_path / "lake"
        self.handing = Handing(spark, tmp_path, self.declared())

    @abstractmethod
    def declared(self) -> Sink:
        """Declare the sink."""

    @abstractmethod
    def frame(self) -> DataFrame:
        """Give what a reader sees."""

    @property
    def sink(self) -> Sink:
        return self.handing.sink

    def write(self, batch: int, rows: Sequence[SinkRow]) -> None:
        self.handing.deliver(batch, rows)

    def rows(self) -> list[SinkRow]:
        # A table has no order; the numbers of a key grow as they were sent.
        found = self.frame().orderBy("number").collect()
        return [SinkRow(**row.asDict()) for row in found]

    def _files(self) -> set[Path]:
        return {p for p in self.place.rglob("*.parquet") if "_delta_log" not in p.parts}


class DeltaContract(LakeContract):
    def frame(self) -> DataFrame:
        return self.spark.read.format("delta").load(str(self.place))

    def fail_before_commit(self, batch: int, rows: Sequence[SinkRow]) -> None:
        # A table is made when a query is prepared.
        with self.handing.started():
            pass
        before = self._files()
        log = self.place / "_delta_log"
        version = len(list(log.glob("*.json")))
        with (
            blocked(log / f"{version:020}.json"),
            pytest.raises(DeliveryError, match="table-contended"),
        ):
            self.handing.deliver(batch, rows)
        assert self._files() - before, "no rows were on the disk"


class TestDeltaAppend(DeltaContract):
    def declared(self) -> Sink:
        return sinks.delta(str(self.place))


class TestDeltaMerge(DeltaContract):
    def declared(self) -> Sink:
        return sinks.delta(str(self.place), mode="merge", key="key")


class FilesContract(LakeContract):
    def frame(self) -> DataFrame:
        try:
            return read_files(self.spark, str(self.place))
        except DeliveryError:
            return self.spark.createDataFrame([], self.handing.schema)

    def fail_before_commit(self, batch: int, rows: Sequence[SinkRow]) -> None:
        manifests = self.place / "_headrace"
        number = len(list(manifests.glob("0*.json")))
        with (
            blocked(manifests / f"{number:020}.json"),
            pytest.raises(DeliveryError, match="writer-fenced"),
        ):
            self.handing.deliver(batch, rows)
        left = list(self.place.rglob(f"{number}-batch-{batch}-*c000*"))
        assert left, "no rows were on the disk"


class TestParquetFiles(FilesContract):
    def declared(self) -> Sink:
        return sinks.files(str(self.place))


class TestJsonFiles(FilesContract):
    def declared(self) -> Sink:
        return sinks.files(str(self.place), format="json", partition_by=["key"])


class MemoryContract(LakeContract):
    def frame(self) -> DataFrame:
        try:
            return read_memory(self.spark, self.handing.pipeline, "copy")
        except DeliveryError:
            return self.spark.createDataFrame([], self.handing.schema)

    def fail_before_commit(self, batch: int, rows: Sequence[SinkRow]) -> None:
        roomy = self.handing.sink
        self.handing.sink = replace(roomy, most=2)  # type: ignore[type-var]
        with pytest.raises(DeliveryError, match="memory-full"):
            self.handing.deliver(batch, rows)
        self.handing.sink = roomy


class TestMemory(MemoryContract):
    def declared(self) -> Sink:
        return sinks.memory()


class TestKeyedMemory(MemoryContract):
    def declared(self) -> Sink:
        return sinks.memory(key="key")
