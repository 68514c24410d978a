"""Between a topic's bytes and an event's columns, by the format that was declared."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sql

from headrace._spark import bridge
from headrace.plan.changes import ReadChanges
from headrace.schema.formats import TO_JSON_OPTIONS, Side, reading, writing

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from headrace.plan.outgoing import Encode
    from headrace.plan.steps import Output, Read
    from headrace.schema.registry import Registry


def decoded(
    rows: DataFrame,
    read: Read,
    registry: Registry | None,
    *,
    format_: str | None = None,
) -> DataFrame:
    """Give a source's events as columns, with their origin and unreadable inputs.

    Args:
        rows: What Spark's Kafka source gives: key, value, topic, partition, …
        read: The step that reads them.
        registry: The schema registry, where the format needs one.
        format_: The format of the bytes, if it is not the declared one.
    """
    if isinstance(read, ReadChanges):
        return _changes(rows, read, registry, format_ or read.format)
    side = Side(read.topic)
    wanted = reading(format_ or read.format, read.columns.spark, side, registry)
    options = wanted.options
    if read.time is not None and read.ahead is not None:
        ahead = read.ahead // timedelta(microseconds=1)
        options = options | {"time": read.time, "ahead_us": str(ahead)}
    return bridge.decode(rows, wanted.schema_json, options)


def _changes(
    rows: DataFrame, read: ReadChanges, registry: Registry | None, format_: str
) -> DataFrame:
    """Give the changes of a table's rows."""
    if read.is_captured:
        name = f"{read.topic}#{read.number}"
        return bridge.decode_captured(rows, json.dumps(read.row.spark), name)
    wanted = reading(format_, read.row.spark, Side(read.topic), registry)
    options = {"tombstones": "keep", "key": read.by[0], **wanted.options}
    return bridge.decode_upserts(rows, wanted.schema_json, options)


def json_encoder(_output: Output, payload: Column, _schema: dict[str, Any]) -> Column:
    """Write columns as JSON, with Spark's own expression."""
    return sql.to_json(payload, TO_JSON_OPTIONS).cast("binary")


def encoder(spark: SparkSession, registry: Registry | None) -> Encode:
    """Give the function that writes each output in its sink's format.

    An output's schema is registered when the pipeline is planned, so a change that
    readers could not follow is refused before the first batch.
    """

    def encode(output: Output, payload: Column, schema: dict[str, Any]) -> Column:
        sink = output.sink
        if sink.format == "json":
            return json_encoder(output, payload, schema)
        name = "".join(part.capitalize() for part in output.name.split("-"))
        wanted = writing(sink.format, schema, Side(sink.topic), registry, name=name)
        return bridge.encoded(spark, payload, wanted.options)

    return encode
