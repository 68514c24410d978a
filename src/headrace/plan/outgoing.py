"""From outputs to the rows a query sends: one evaluation, whatever the fan-out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sql

from headrace.delivery.failures import refusal
from headrace.plan.changes import DELETED, TableRows
from headrace.plan.chosen import KIND, Chosen, chosen_columns, kind_of
from headrace.plan.lower import (
    CARRIED,
    Lowering,
    Open,
    evaluated,
    named,
    reads,
    true_for,
)
from headrace.plan.native_joins import native_joins
from headrace.plan.routes import Route, RowByRow, by_trunk
from headrace.plan.steps import Output, Read, Select, Union, Where
from headrace.plan.surroundings import Surroundings
from headrace.plan.targets import require_key_found
from headrace.plan.widths import widened
from headrace.schema.formats import TO_JSON_OPTIONS
from headrace.schema.types import Unknown

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

_HEADERS = "array<struct<key:string,value:binary>>"


Encode = Callable[[Output, "Column", dict[str, Any]], "Column"]
"""Gives the bytes of an output's columns, a struct whose Spark schema comes with it."""


def outgoing(
    outputs: Sequence[Output],
    open_source: Open,
    encode: Encode,
    around: Surroundings = Surroundings(),  # noqa: B008 - frozen
) -> DataFrame:
    """Give the rows of all outputs, with the dead letters of all sources.

    Args:
        outputs: What to write. An output's place here is its sink's number, and the
            dead letters' sink has the number after the last.
        open_source: Gives the decoded frame of a source.
        encode: Gives the bytes of an output's columns.
        around: Where the query goes on from, and whom it may ask.
    """
    lowering = Lowering(open_source, native_joins(outputs), around)
    frames: list[DataFrame] = []
    heard: set[Read] = set()
    for step, routes in by_trunk(outputs).items():
        frame = lowering.frame(step, heard=heard)
        frames.append(_FanOut(lowering, encode).rows(frame, routes, len(outputs)))
        heard |= reads(step)
    return reduce(lambda one, other: one.unionByName(other), frames)


class _FanOut:
    """Computes all outputs of a trunk beside each other, and sends what each keeps."""

    def __init__(self, lowering: Lowering, encode: Encode) -> None:
        self._lowering = lowering
        self._encode = encode
        # Where each path of steps has led: its struct, and whether it keeps the row.
        self._reached: dict[tuple[RowByRow | Union, ...], tuple[str, Column]] = {}

    def rows(
        self, frame: DataFrame, routes: Sequence[Route], dead_letters: int
    ) -> DataFrame:
        """Give the records of all routes from a trunk's frame."""
        living = [name for name in frame.columns if name not in CARRIED]
        frame = frame.withColumn("_to", sql.struct(*(f"`{name}`" for name in living)))
        self._reached = {(): ("_to", sql.isnull("_dead"))}
        records: list[Column] = [_dead_letter(dead_letters)]
        for route in routes:
            output = route.output
            frame, struct, keep = self._along(frame, route)
            payload = _payload(output, struct)
            columns = frame.select(payload.alias("payload")).select("payload.*")
            require_key_found(output, columns)
            value = self._encode(output, payload, _schema(columns.schema, output))
            if isinstance(output.step, TableRows):
                # A key whose row is gone has no value.
                value = sql.when(~sql.col(f"{struct}.{DELETED}"), value)
            record = _record(route.number, _key(output, struct), value)
            records.append(sql.when(keep, record))
        # A condition on a column is pushed below the columns it is computed from, and
        # repeats all the steps of all outputs on its way. One on what comes out of a
        # list stays above it, and of an outer list Spark asks nothing below it.
        every = frame.select(sql.array(*records).alias("_records"))
        sent = every.select(sql.explode_outer("_records").alias("_record"))
        return sent.where("_record is not null").select("_record.*")

    def _along(self, frame: DataFrame, route: Route) -> tuple[DataFrame, str, Column]:
        """Follow a route's row-by-row steps inside columns of its own.

        What routes have in common from the trunk on is computed once. Gives the frame,
        the name of the struct that holds the output's columns, and whether the output
        keeps the row.
        """
        struct, keep = self._reached[()]
        for length, step in enumerate(route.path, start=1):
            path = route.path[:length]
            if path not in self._reached:
                after = f"_to_{len(self._reached)}"
                with named(step):
                    frame, *_ = found = self._step(frame, step, after, (struct, keep))
                self._reached[path] = found[1:]
            struct, keep = self._reached[path]
        return frame, struct, keep

    def _step(
        self,
        frame: DataFrame,
        step: RowByRow | Union,
        after: str,
        before: tuple[str, Column],
    ) -> tuple[DataFrame, str, Column]:
        """Add the columns of one step, as those behind `before` reach it."""
        struct, keep = before
        # Nothing is computed for a row that an earlier step has not kept: where
        # "n <> 0" comes first, "1 / n" is safe behind it.
        kept = _kept(step, struct)
        if kept is not None:
            passes = sql.when(keep, true_for(kept)).otherwise(False)
            frame = frame.withColumn(f"{after}_kept", passes)
            keep = sql.col(f"{after}_kept")
        if not isinstance(step, Where):
            columns = self._columns(step, struct, frame)
            held = sql.struct(*(v.alias(name) for name, v in columns.items()))
            frame = frame.withColumn(after, sql.when(keep, held))
            struct = after
        return frame, struct, keep

    def _columns(
        self, step: Select | Chosen | Union, struct: str, frame: DataFrame
    ) -> dict[str, Column]:
        """Give the columns of a step that computes or chooses some."""
        if isinstance(step, Union):
            # What comes together has one type, as if the union were evaluated.
            types = self._lowering.frame(step).schema
            return {
                name: sql.col(f"{struct}.`{name}`").cast(types[name].dataType)
                for name in step.columns.names
            }
        if isinstance(step, Select):
            given = {
                name: (evaluated(told.inside(struct), frame), told.type)
                for name, told in step.expressions.items()
            }
        else:
            chosen = chosen_columns(step, f"{struct}.")
            given = {f.name: (chosen[f.name], f.type) for f in step.columns}
        return {
            name: widened(value, told, frame) for name, (value, told) in given.items()
        }


def _kept(step: RowByRow | Union, struct: str) -> Column | None:
    """Give the condition on which a step keeps a row; None if it keeps all."""
    match step:
        case Where():
            return sql.expr(step.condition.inside(struct))
        case Select() | Union():
            return None
    return sql.col(f"{struct}.{KIND}") == kind_of(step)


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
    found = _key_bytes([sql.col(f"{struct}.`{n}`").alias(n) for n in output.keys])
    if not isinstance(output.step, TableRows):
        return found
    for name in output.keys:
        if not output.step.columns[name].required:
            no_key = _no_key(output, name).cast("binary")
            found = sql.when(sql.col(f"{struct}.`{name}`").isNull(), no_key).otherwise(
                found
            )
    return found


def _key_bytes(columns: Sequence[Column]) -> Column:
    """Give the bytes of a key: of one column as they are, of several their JSON."""
    match columns:
        case []:
            return sql.lit(None).cast("binary")
        case [only]:
            # A text as UTF-8, bytes as they are.
            return only.cast("string").cast("binary")
    return sql.to_json(sql.struct(*columns), TO_JSON_OPTIONS).cast("binary")


def _no_key(output: Output, column: str) -> Column:
    named = refusal(
        "row-without-key",
        f'output "{output.name}" of a table has a row without a key',
        f'its column "{column}" is null; the row could be neither replaced nor '
        "deleted.",
        "give it a key before the rows are put together: "
        f"derive({column}=\"coalesce({column}, 'none')\"); or leave it out: "
        f'where("{column} is not null").',
    )
    return sql.raise_error(named)


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
