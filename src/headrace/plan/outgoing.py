"""From outputs to the rows a query sends: one evaluation, whatever the fan-out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sql

from headrace.plan.lower import (
    CARRIED,
    Lowering,
    Open,
    named,
    reads,
    true_for,
    widened,
)
from headrace.plan.steps import Output, Read, Select, Step, Where, trunk
from headrace.schema.types import Unknown

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

_HEADERS = "array<struct<key:string,value:binary>>"


Encode = Callable[[Output, "Column", dict[str, Any]], "Column"]
"""Gives the bytes of an output's columns, a struct whose Spark schema comes with it."""


def outgoing(outputs: Sequence[Output], open_source: Open, encode: Encode) -> DataFrame:
    """Give the rows of all outputs, with the dead letters of all sources.

    Args:
        outputs: What to write. An output's place here is its sink's number, and the
            dead letters' sink has the number after the last.
        open_source: Gives the decoded frame of a source.
        encode: Gives the bytes of an output's columns.
    """
    by_trunk: dict[Step, list[tuple[int, Output]]] = {}
    for index, output in enumerate(outputs):
        by_trunk.setdefault(trunk(output.step), []).append((index, output))
    lowering = Lowering(open_source)
    frames: list[DataFrame] = []
    heard: set[Read] = set()
    for step, fed in by_trunk.items():
        frame = lowering.frame(step, heard=heard)
        frames.append(_fan_out(frame, fed, len(outputs), encode))
        heard |= reads(step)
    return reduce(lambda one, other: one.unionByName(other), frames)


def _fan_out(
    frame: DataFrame,
    outputs: Sequence[tuple[int, Output]],
    dead_letters: int,
    encode: Encode,
) -> DataFrame:
    """Compute all outputs of a trunk beside each other, and send what each keeps."""
    living = [name for name in frame.columns if name not in CARRIED]
    records: list[Column] = [_dead_letter(dead_letters)]
    for index, output in outputs:
        frame, struct, keep = _along(frame, index, output.step, living)
        payload = _payload(output, struct)
        found = frame.select(payload.alias("payload")).select("payload.*").schema
        value = encode(output, payload, _schema(found, output))
        record = _record(index, _key(output, struct), value)
        records.append(sql.when(keep, record))
    if len(outputs) == 1:
        # A row is a dead letter or a record or nothing: no list to take apart.
        sent = frame.select(sql.coalesce(*records).alias("_record"))
    else:
        every = frame.select(sql.array(*records).alias("_records"))
        sent = every.select(sql.explode("_records").alias("_record"))
    return sent.where("_record is not null").select("_record.*")


def _along(
    frame: DataFrame, index: int, step: Step, living: Sequence[str]
) -> tuple[DataFrame, str, Column]:
    """Follow an output's row-by-row steps inside columns of its own.

    Gives the frame, the name of the struct that holds the output's columns, and
    whether the output keeps the row.
    """
    path: list[Where | Select] = []
    while isinstance(step, Where | Select):
        path.append(step)
        step = step.input
    struct, keep = f"_to_{index}_0", sql.isnull("_dead")
    frame = frame.withColumn(struct, sql.struct(*(f"`{name}`" for name in living)))
    for number, current in enumerate(reversed(path), start=1):
        after = f"_to_{index}_{number}"
        # Nothing is computed for a row that an earlier step has not kept: where
        # "n <> 0" comes first, "1 / n" is safe behind it.
        with named(current):
            if isinstance(current, Where):
                kept = true_for(sql.expr(current.condition.inside(struct)))
                frame = frame.withColumn(after, sql.when(keep, kept).otherwise(False))
                keep = sql.col(after)
                continue
            computed = [
                widened(sql.expr(told.inside(struct)), told.type, frame).alias(name)
                for name, told in current.expressions.items()
            ]
            frame = frame.withColumn(after, sql.when(keep, sql.struct(*computed)))
            struct = after
    return frame, struct, keep


def _payload(output: Output, struct: str) -> Column:
    names = output.step.columns.names
    return sql.struct(*(sql.col(f"{struct}.`{name}`").alias(name) for name in names))


def _schema(payload: StructType, output: Output) -> dict[str, Any]:
    """Give the payload's schema: its types as Spark found them, the rest as declared.

    In the frame every column may be null, since those of dead letters are; what was
    declared says which are not in an event, and which texts are symbols.
    """
    found = {field["name"]: field for field in payload.jsonValue()["fields"]}
    for field in output.step.columns:
        if not isinstance(field.type, Unknown):
            found[field.name] = field.spark
    return {"type": "struct", "fields": list(found.values())}


def _key(output: Output, struct: str) -> Column:
    key = sql.col(f"{struct}.`{output.key}`") if output.key else sql.lit(None)
    # A text as UTF-8, bytes as they are.
    return key.cast("string").cast("binary")


def _record(index: int, key: Column, value: Column) -> Column:
    return _row(sql.lit(index), key, value, sql.lit(None).cast(_HEADERS))


def _dead_letter(index: int) -> Column:
    """Send an unreadable input as it came, with its origin and the reason."""
    told = {
        "headrace.reason": "_dead.reason",
        "headrace.detail": "_dead.detail",
        "headrace.origin.topic": "_origin.topic",
        "headrace.origin.partition": "_origin.partition",
        "headrace.origin.offset": "_origin.offset",
        "headrace.origin.time": "_origin.timestamp",
    }
    headers = [
        sql.struct(
            sql.lit(name).alias("key"),
            sql.encode(sql.col(column).cast("string"), "UTF-8").alias("value"),
        )
        for name, column in told.items()
    ]
    record = _row(
        sql.lit(index),
        sql.col("_dead.key"),
        sql.col("_dead.value"),
        sql.concat(
            sql.coalesce(sql.col("_dead.headers"), sql.array().cast(_HEADERS)),
            sql.array(*headers).cast(_HEADERS),
        ),
    )
    return sql.when(sql.expr("_dead is not null"), record)


def _row(sink: Column, key: Column, value: Column, headers: Column) -> Column:
    return sql.struct(
        sink.cast("int").alias("sink"),
        key.alias("key"),
        value.alias("value"),
        headers.alias("headers"),
        sql.lit(None).cast("timestamp").alias("timestamp"),
    )
