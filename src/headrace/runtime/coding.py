"""Between a topic's bytes and an event's columns, by the format that was declared."""

from __future__ import annotations

import json
from datetime import timedelta
from json import dumps
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sql

from headrace._spark import bridge
from headrace.plan.changes import ReadChanges
from headrace.schema.formats import TO_JSON_OPTIONS, Side, reading, writing
from headrace.sinks import KafkaSink

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

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


class Encoder:
    """Writes each output as its sink takes it.

    A schema of a topic is registered when the pipeline is planned, so a change that
    readers could not follow is refused before the first batch.

    Args:
        spark: The session.
        registry: The schema registry, where a format needs one.

    Attributes:
        schemas: The columns of each output that was planned, as Spark's JSON.
    """

    def __init__(self, spark: SparkSession, registry: Registry | None) -> None:
        self._spark = spark
        self._registry = registry
        self.schemas: dict[str, dict[str, Any]] = {}

    def __call__(
        self, output: Output, payload: Column, schema: dict[str, Any]
    ) -> Column:
        """Give the bytes of an output's columns."""
        self.schemas[output.name] = schema
        sink = output.sink
        match sink.takes:
            case "documents":
                return bridge.encoded(
                    self._spark, payload, {"format": "json", "schema": dumps(schema)}
                )
            case "rows":
                return bridge.packed(self._spark, payload, dumps(_nullable(schema)))
        if not isinstance(sink, KafkaSink) or sink.format == "json":
            return json_encoder(output, payload, schema)
        name = "".join(part.capitalize() for part in output.name.split("-"))
        side = Side(sink.topic)
        wanted = writing(sink.format, schema, side, self._registry, name=name)
        return bridge.encoded(self._spark, payload, wanted.options)


def _nullable(kind: Any) -> Any:
    """Let every field be null: a row that breaks its word must not be misread."""
    match kind:
        case {"type": "struct", "fields": fields}:
            loose = [
                f | {"nullable": True, "type": _nullable(f["type"])} for f in fields
            ]
            return kind | {"fields": loose}
        case {"type": "array", "elementType": element}:
            return kind | {"elementType": _nullable(element), "containsNull": True}
    return kind
