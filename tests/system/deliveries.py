"""Batches that go to one sink through the real delivery, without a topic to read."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from headrace import Pipeline, event, kafka
from headrace._spark.delivery import (
    close_delivery,
    delivery_report,
    open_delivery,
    write_batch,
)
from headrace.delivery import SinkTerms, Terms
from headrace.delivery.failures import named_failure
from headrace.runtime.coding import Encoder
from headrace.runtime.targets import sink_terms
from headrace.sinks import Sink

_HEADERS = "array<struct<key:string,value:binary>>"


@event(key="key")
class Sent:
    key: str
    number: int
    text: str | None


@dataclass(frozen=True)
class At:
    """Servers at these addresses."""

    address: str

    def database(self, _name: str) -> str:
        return self.address

    def redis(self) -> str:
        return self.address

    def opensearch(self) -> str:
        return self.address


class Deliveries:
    """One output of a pipeline, to which batches are delivered by their numbers.

    A batch is its rows: any event of `shape`, or a key alone, which takes its row
    away.
    """

    def __init__(
        self,
        spark: SparkSession,
        home: Path,
        sink: Sink,
        address: str,
        *,
        shape: type = Sent,
        lanes: int = 1,
        name: str | None = None,
    ) -> None:
        self._spark = spark
        self.address = address
        self._checkpoint = home / uuid.uuid4().hex
        (self._checkpoint / "offsets").mkdir(parents=True)
        lineage = json.dumps({"id": str(uuid.uuid4())})
        (self._checkpoint / "metadata").write_text(lineage)
        self.pipeline = Pipeline(name or f"p{uuid.uuid4().hex[:8]}", lanes=lanes)
        self.lanes = lanes
        rows = self.pipeline.read(kafka("in", shape))
        self.pipeline.write("copy", rows, sink)
        self.patience = timedelta(seconds=60)

    def write(
        self,
        batch: int,
        rows: Iterable[Any],
        *,
        adopt: Sequence[str] = (),
        **settings: str,
    ) -> dict[str, Any]:
        """Deliver a batch; give the report.

        Raises:
            HeadraceError: Why it was refused.
        """
        (self._checkpoint / "offsets" / str(batch)).write_text(
            f'v1\n{{"batchWatermarkMs":0}}\n{{"in":{{"0":{batch}}}}}'
        )
        frame, sinks = self._planned(list(rows))
        return self.send(batch, frame, sinks, adopt=adopt, **settings)

    def send(
        self,
        batch: int,
        frame: DataFrame,
        sinks: Sequence[SinkTerms],
        *,
        adopt: Sequence[str] = (),
        **settings: str,
    ) -> dict[str, Any]:
        """Deliver a frame of outgoing rows."""
        name = self.pipeline.name
        terms = Terms(
            pipeline=name,
            query="main",
            bootstrap=None,
            checkpoint=str(self._checkpoint),
            sinks=tuple(
                SinkTerms(s.name, s.system, {**s.settings, **settings}) for s in sinks
            ),
            lanes=self.lanes,
            adopt=frozenset(adopt),
            patience=self.patience,
        )
        try:
            open_delivery(self._spark, terms.options())
            write_batch(frame, batch, name, "main")
            return delivery_report(self._spark, name, "main")
        except Py4JJavaError as error:
            named = named_failure(str(error))
            if named is None:
                raise
            raise named from error
        finally:
            close_delivery(self._spark, name, "main")

    def _planned(self, rows: Sequence[Any]) -> tuple[DataFrame, list[SinkTerms]]:
        (output,) = self.pipeline.outputs
        columns = output.step.columns
        nothing = dict.fromkeys(columns.names)
        given = [
            (row, nothing, False)
            if isinstance(row, str)
            else (_key(row, output.key), asdict(row), True)
            for row in rows
        ]
        frame = self._spark.createDataFrame(
            given, f"key string, row {columns.sql}, is_there boolean"
        )
        encode = Encoder(self._spark, None)
        row = sql.struct(*(sql.col(f"row.{name}") for name in columns.names))
        value = encode(output, row, columns.spark)
        frame = frame.select(
            sql.lit(0).alias("sink"),
            sql.col("key").cast("binary").alias("key"),
            sql.when(sql.col("is_there"), value).alias("value"),
            sql.lit(None).cast(_HEADERS).alias("headers"),
            sql.lit(None).cast("timestamp").alias("timestamp"),
        )
        return frame, sink_terms([output], encode.schemas, At(self.address))


def _key(row: Any, key: str | None) -> str | None:
    found = getattr(row, key or "key")
    return None if found is None else str(found)
