"""Batches that go from declared events to one sink, through the real delivery."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from headrace import Pipeline, event, kafka
from headrace._spark.delivery import delivery_report, write_batch
from headrace.delivery import SinkTerms
from headrace.runtime.coding import Encoder
from headrace.runtime.targets import sink_terms
from headrace.sinks import Sink
from support.harness.direct import Direct

_HEADERS = "array<struct<key:string,value:binary>>"


@event(key="key")
class Sent:
    key: str
    number: int
    text: str | None


@dataclass(frozen=True)
class At:
    """Servers that are all at one address."""

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
    away. Each is delivered by a driver of its own. The checkpoint is in a directory
    of the pipeline's name in `home`.
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
        self.patience = timedelta(seconds=60)
        self.pipeline = Pipeline(name or f"p{uuid4().hex[:8]}", lanes=lanes)
        self._home = home / self.pipeline.name
        # The same for another process that goes on here.
        self._lineage = str(uuid5(NAMESPACE_URL, str(self._home)))
        rows = self.pipeline.read(kafka("in", shape))
        self.pipeline.write("copy", rows, sink)

    def write(
        self,
        batch: int,
        rows: Iterable[Any],
        *,
        adopt: Sequence[str] = (),
        **settings: str,
    ) -> dict[str, Any]:
        """Deliver a batch; give the report.

        Args:
            batch: Its number.
            rows: Its rows.
            adopt: What to take over as it is.
            settings: What the sink is told beside its own.

        Raises:
            HeadraceError: Why it was refused.
        """
        frame, terms = self._planned(list(rows))
        name = self.pipeline.name
        told = SinkTerms(terms.name, terms.system, {**terms.settings, **settings})
        direct = Direct(
            self._spark,
            self._home,
            told,
            name,
            self.pipeline.lanes,
            self.patience,
            self._lineage,
        )
        offsets = self._home / "offsets"
        offsets.mkdir(parents=True, exist_ok=True)
        place = json.dumps({"in": {"0": batch}})
        (offsets / str(batch)).write_text(f"v1\n{{}}\n{place}")
        with direct.named():
            direct.open(adopt=adopt)
            write_batch(frame, batch, name, "main")
            return delivery_report(self._spark, name, "main")

    def _planned(self, rows: Sequence[Any]) -> tuple[DataFrame, SinkTerms]:
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
        (terms,) = sink_terms([output], encode.schemas, At(self.address))
        return frame, terms


def _key(row: Any, key: str | None) -> str | None:
    found = getattr(row, key or "key")
    return None if found is None else str(found)
