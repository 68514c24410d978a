"""Deliver batches into a sink without Kafka, from a checkpoint made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headrace._spark.delivery import (
    close_delivery,
    delivery_report,
    open_delivery,
    write_batch,
)
from headrace.delivery import SinkTerms, Terms, named_failure

OUTGOING = (
    "sink int, key string, value string, "
    "headers array<struct<key:string,value:binary>>, timestamp timestamp"
)

Sent = tuple[str | None, dict[str, Any] | None]


@dataclass
class Direct:
    """One sink, and the batches that it is given; each `run` is another driver."""

    spark: SparkSession
    home: Path
    sink: SinkTerms
    pipeline: str = "direct"
    lanes: int = 1
    patience: timedelta = timedelta(seconds=2)
    lineage: str = field(default_factory=lambda: str(uuid4()))

    def run(
        self, batches: Mapping[int, Sequence[Sent]], *, adopt: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Deliver batches by their numbers, as one start of a query does."""
        with self.named():
            self.open(adopt=adopt)
            for number, rows in batches.items():
                self.write(number, rows)
            return delivery_report(self.spark, self.pipeline, "main")

    def open(self, *, adopt: Sequence[str] = ()) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "metadata").write_text(json.dumps({"id": self.lineage}))
        terms = Terms(
            pipeline=self.pipeline,
            query="main",
            bootstrap=None,
            checkpoint=str(self.home),
            sinks=(self.sink,),
            lanes=self.lanes,
            adopt=frozenset(adopt),
            patience=self.patience,
        )
        open_delivery(self.spark, terms.options())

    def write(
        self, number: int, rows: Sequence[Sent], offset: int | None = None
    ) -> None:
        """Deliver a batch that ends at an offset; by default its number's own."""
        offsets = self.home / "offsets"
        offsets.mkdir(exist_ok=True)
        place = {"in": {"0": number * 10 if offset is None else offset}}
        (offsets / str(number)).write_text(f"v1\n{{}}\n{json.dumps(place)}")
        sent = [
            (0, key, None if value is None else json.dumps(value), None, None)
            for key, value in rows
        ]
        frame = self.spark.createDataFrame(sent, OUTGOING)
        write_batch(frame.coalesce(1), number, self.pipeline, "main")

    @contextmanager
    def named(self) -> Iterator[None]:
        """Raise the named error that the JVM's is about, and close what was opened."""
        try:
            yield
        except Py4JJavaError as error:
            named = named_failure(str(error))
            if named is None:
                raise
            raise named from error
        finally:
            close_delivery(self.spark, self.pipeline, "main")
