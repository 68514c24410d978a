"""The rig's sinks: what they are sent is kept, and where they can be, they are written.

An output that is written is planned twice: once as JSON for the rig to tell, and
once as its sink takes it. Both come from one evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace._spark.delivery import close_delivery, open_delivery, write_batch
from headrace.delivery import SinkTerms, Terms
from headrace.runtime.coding import Encoder, json_encoder
from headrace.runtime.targets import sink_terms

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from headrace.pipeline import Pipeline
    from headrace.plan.steps import Output
    from headrace.sinks import Servers

_QUERY = "rig"


class RigSinks:
    """Decides what of a pipeline's outputs is written, and writes it.

    Args:
        pipeline: The pipeline under test.
        spark: Its session.
        servers: Where the servers are; None, and only memory is written.
    """

    def __init__(
        self, pipeline: Pipeline, spark: SparkSession, servers: Servers | None
    ) -> None:
        self._pipeline = pipeline
        self._spark = spark
        self._servers = servers
        self._encoder = Encoder(spark, None)
        self._written = [
            replace(output)
            for output in pipeline.outputs
            if output.sink.system == "memory"
            or (servers is not None and output.sink.system != "kafka")
        ]

    @property
    def outputs(self) -> list[Output]:
        """What is planned: all outputs to be told, then those to be written."""
        return [*self._pipeline.outputs, *self._written]

    def __call__(
        self, output: Output, payload: Column, schema: dict[str, Any]
    ) -> Column:
        """Give the bytes of an output's columns."""
        if any(output is written for written in self._written):
            return self._encoder(output, payload, schema)
        return json_encoder(output, payload, schema)

    def open(self, checkpoint: Path) -> None:
        """Prepare the sinks for a query on this checkpoint, once it was planned."""
        if not self._written:
            return
        told = [SinkTerms.of_topic(o.name, o.name) for o in self._pipeline.outputs]
        sinks = sink_terms(self._written, self._encoder.schemas, self._servers)
        terms = Terms(
            pipeline=self._pipeline.name,
            query=_QUERY,
            bootstrap=None,
            checkpoint=str(checkpoint),
            sinks=(*told, *sinks, SinkTerms.of_topic("dead-letters", "dead-letters")),
            lanes=self._pipeline.lanes,
        )
        open_delivery(self._spark, terms.options())

    @contextmanager
    def delivering(self, batch: DataFrame, number: int) -> Iterator[DataFrame]:
        """Give a batch to be looked at, then write it."""
        if not self._written:
            yield batch
            return
        kept = batch.persist()
        try:
            yield kept
            write_batch(kept, number, self._pipeline.name, _QUERY)
        finally:
            kept.unpersist()

    def close(self) -> None:
        """Close what was opened."""
        if self._written:
            close_delivery(self._spark, self._pipeline.name, _QUERY)
