"""Hand batches to a sink through the real delivery, with any number, again or late."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import StructType

from headrace._spark.bridge import packed
from headrace._spark.delivery import (
    close_delivery,
    delivery_report,
    open_delivery,
    write_batch,
)
from headrace.delivery import SinkTerms, Terms, named_failure
from headrace.sinks import Sink
from headrace.testing import SinkRow

SENT = "key string, number bigint, text string"

_NUMBERS = count(1)


class Handing:
    """A sink and a checkpoint, which says of each batch where it ends.

    Args:
        spark: The shared session.
        home: Where the checkpoint is made.
        sink: What is written to.
        columns: The output's columns, as Spark's DDL.
        key: The column that keys the rows.
    """

    def __init__(
        self,
        spark: SparkSession,
        home: Path,
        sink: Sink,
        *,
        columns: str = SENT,
        key: str | None = "key",
    ) -> None:
        self.spark = spark
        self.sink = sink
        self.columns = columns
        self.key = key
        self.pipeline = f"handing-{next(_NUMBERS)}"
        self.checkpoint = home / "checkpoint"
        self.begin_checkpoint("first")

    def begin_checkpoint(self, lineage: str) -> None:
        """Let batches come from a checkpoint of this name from now on."""
        self.checkpoint.mkdir(parents=True, exist_ok=True)
        (self.checkpoint / "metadata").write_text(json.dumps({"id": lineage}))

    def deliver(
        self,
        batch: int,
        rows: Iterable[Any],
        *,
        deleted: Sequence[str] = (),
        adopt: Iterable[str] = (),
        patience: timedelta = timedelta(0),
    ) -> dict[str, Any]:
        """Deliver one batch as a driver does that was only now started."""
        with self.started(adopt=adopt, patience=patience) as driver:
            driver.write(batch, rows, deleted=deleted)
            return driver.report()

    @contextmanager
    def started(
        self,
        *,
        adopt: Iterable[str] = (),
        patience: timedelta = timedelta(0),
        query: str = "main",
    ) -> Iterator[Driver]:
        """Start a driver that is to write several batches."""
        settings = self.sink.settings(None)
        settings["columns"] = self.schema.json()
        if self.key is not None:
            settings["key"] = json.dumps([self.key])
        terms = Terms(
            pipeline=self.pipeline,
            query=query,
            bootstrap=None,
            checkpoint=str(self.checkpoint),
            sinks=(SinkTerms("copy", self.sink.system, settings),),
            adopt=frozenset(adopt),
            patience=patience,
        )
        with named():
            open_delivery(self.spark, terms.options())
        try:
            yield Driver(self, query)
        finally:
            close_delivery(self.spark, self.pipeline, query)

    @property
    def schema(self) -> StructType:
        schema = StructType.fromDDL(self.columns)
        assert isinstance(schema, StructType)
        return schema

    def outgoing(self, rows: Iterable[Any], deleted: Sequence[str]) -> DataFrame:
        """Give rows as a pipeline sends them; those of a key stay in their order."""
        listed = [
            tuple(vars(r).values()) if isinstance(r, SinkRow) else r for r in rows
        ]
        frame = self.spark.createDataFrame(listed, self.schema).coalesce(1)
        payload = sql.struct(*(f"`{name}`" for name in self.schema.names))
        key = sql.col(f"`{self.key}`") if self.key else sql.lit(None)
        sent = frame.select(
            sql.lit(0).alias("sink"),
            key.cast("string").cast("binary").alias("key"),
            packed(self.spark, payload, self.schema.json()).alias("value"),
        )
        gone = self.spark.createDataFrame([(k,) for k in deleted], "key string").select(
            sql.lit(0).alias("sink"),
            sql.col("key").cast("binary"),
            sql.lit(None).cast("binary").alias("value"),
        )
        return sent.union(gone).selectExpr(
            "*",
            "CAST(NULL AS array<struct<key:string,value:binary>>) AS headers",
            "CAST(NULL AS timestamp) AS timestamp",
        )

    def note_offsets(self, batch: int) -> None:
        """Write what Spark writes before it runs a batch."""
        offsets = self.checkpoint / "offsets"
        offsets.mkdir(exist_ok=True)
        place = json.dumps({"in": {"0": (batch + 1) * 100}})
        (offsets / str(batch)).write_text(f"v1\n{{}}\n{place}")


class Driver:
    """A driver that runs; what it was started with does not change any more."""

    def __init__(self, handing: Handing, query: str) -> None:
        self._handing = handing
        self._query = query

    def write(
        self, batch: int, rows: Iterable[Any], *, deleted: Sequence[str] = ()
    ) -> None:
        handing = self._handing
        handing.note_offsets(batch)
        with named():
            write_batch(
                handing.outgoing(rows, deleted), batch, handing.pipeline, self._query
            )

    def report(self) -> dict[str, Any]:
        return delivery_report(self._handing.spark, self._handing.pipeline, self._query)


@contextmanager
def named() -> Iterator[None]:
    """Raise the error that a refusal in the JVM stands for."""
    try:
        yield
    except Py4JJavaError as error:
        found = named_failure(str(error))
        if found is None:
            raise
        raise found from error


@contextmanager
def blocked(file: Path) -> Iterator[None]:
    """Have the file system refuse to make a file: a link is there, to nowhere."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to(file.with_name("nowhere"))
    try:
        yield
    finally:
        file.unlink()
