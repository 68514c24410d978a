"""From outputs to the rows a query sends: one evaluation, whatever the fan-out."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sql

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
    value_at,
)
from headrace.plan.native_joins import native_joins
from headrace.plan.routes import Path, Route, RowByRow, by_trunk
from headrace.plan.sent import dead_letter, key_of, sent_row
from headrace.plan.steps import Output, Read, Select, Union, Where
from headrace.plan.surroundings import Surroundings
from headrace.plan.targets import require_key_found
from headrace.plan.widths import widened
from headrace.schema.types import Unknown

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

    from headrace.schema.expressions import Expression
    from headrace.schema.types import FieldType

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


@dataclass(frozen=True)
class _Reached:
    """Where a path of steps has led.

    Attributes:
        places: What each column is found by.
        keep: Whether the row has been kept.
    """

    places: Mapping[str, str]
    keep: Column


class _FanOut:
    """Computes all outputs of a trunk beside each other, and sends what each keeps.

    A column stays where it was computed, and a step adds those that it computes. All of
    this is one method that Spark generates, which Java must not find too long: it
    compiles no method of more than 8,000 bytes.
    """

    def __init__(self, lowering: Lowering, encode: Encode) -> None:
        self._lowering = lowering
        self._encode = encode
        self._reached: dict[Path, _Reached] = {}

    def rows(
        self, frame: DataFrame, routes: Sequence[Route], dead_letters: int
    ) -> DataFrame:
        """Give the records of all routes from a trunk's frame."""
        living = [name for name in frame.columns if name not in CARRIED]
        places = {name: f"`{name}`" for name in living}
        self._reached = {(): _Reached(places, sql.isnull("_dead"))}
        for route in routes:
            frame = self._along(frame, route)
        frame, payloads = self._payloads(frame, routes)
        records = [dead_letter(frame.sparkSession, dead_letters)]
        for route, payload in zip(routes, payloads, strict=True):
            reached = self._reached[route.path]
            record = self._record(frame, route, reached, payload)
            records.append(sql.when(reached.keep, record))
        # A condition on a column is pushed below the columns it is computed from, and
        # repeats all the steps of all outputs on its way. One on what comes out of a
        # list stays above it, and of an outer list Spark asks nothing below it.
        every = frame.select(sql.array(*records).alias("_records"))
        sent = every.select(sql.explode_outer("_records").alias("_record"))
        return sent.where("_record is not null").select("_record.*")

    def _along(self, frame: DataFrame, route: Route) -> DataFrame:
        """Follow a route's row-by-row steps.

        What routes have in common from the trunk on is computed once.
        """
        for length, step in enumerate(route.path, start=1):
            path = route.path[:length]
            if path not in self._reached:
                with named(step):
                    found = self._step(frame, step, self._reached[path[:-1]])
                frame, self._reached[path] = found
        return frame

    def _step(
        self, frame: DataFrame, step: RowByRow | Union, before: _Reached
    ) -> tuple[DataFrame, _Reached]:
        """Add the columns that one step computes."""
        number = len(self._reached)
        # Nothing is computed for a row that an earlier step has not kept: where
        # "n <> 0" comes first, "1 / n" is safe behind it.
        keep, kept = before.keep, _kept(step, before.places)
        if kept is not None:
            passes = sql.when(keep, true_for(kept)).otherwise(False)
            frame = frame.withColumn(f"_kept_{number}", passes)
            keep = sql.col(f"_kept_{number}")
        if isinstance(step, Where):
            return frame, _Reached(before.places, keep)
        places: dict[str, str] = {}
        computed: dict[str, Column] = {}
        for name, told in self._columns(step, before.places, frame).items():
            if isinstance(told, str):
                places[name] = told
            else:
                column = f"_to_{number}_{len(computed)}"
                computed[column] = sql.when(keep, told)
                places[name] = f"`{column}`"
        if computed:
            frame = frame.withColumns(computed)
        return frame, _Reached(places, keep)

    def _columns(
        self, step: Select | Chosen | Union, places: Mapping[str, str], frame: DataFrame
    ) -> dict[str, str | Column]:
        """Give the columns of a step: where each is, or how it is computed."""
        if isinstance(step, Union):
            # What comes together has one type, as if the union were evaluated.
            types = self._lowering.frame(step).schema
            return {
                name: _of_type(places[name], types[name].dataType, frame)
                for name in step.columns.names
            }
        given: dict[str, tuple[str | Column, FieldType]]
        if isinstance(step, Select):
            given = {
                name: (_selected(told, places, frame), told.type)
                for name, told in step.expressions.items()
            }
        else:
            chosen = chosen_columns(step)
            given = {f.name: (chosen[f.name], f.type) for f in step.columns}
        found = {}
        for name, (told, kind) in given.items():
            value = value_at(told)
            wide = widened(value, kind, frame)
            found[name] = told if wide is value else wide
        return found

    def _payloads(
        self, frame: DataFrame, routes: Sequence[Route]
    ) -> tuple[DataFrame, list[str]]:
        """Give the column that has what each route sends; one for all that send it."""
        senders: dict[tuple[tuple[str, str], ...], dict[Path, Column]] = {}
        wanted = []
        for route in routes:
            reached = self._reached[route.path]
            names = route.output.step.columns.names
            wanted.append(tuple((name, reached.places[name]) for name in names))
            senders.setdefault(wanted[-1], {})[route.path] = reached.keep
        columns = {sent: f"_payload_{number}" for number, sent in enumerate(senders)}
        for sent, keeps in senders.items():
            held = sql.struct(*(sql.expr(place).alias(name) for name, place in sent))
            keep = reduce(operator.or_, keeps.values())
            frame = frame.withColumn(columns[sent], sql.when(keep, held))
        return frame, [columns[sent] for sent in wanted]

    def _record(
        self, frame: DataFrame, route: Route, reached: _Reached, payload: str
    ) -> Column:
        """Give the record of a row that a route's output keeps."""
        output = route.output
        columns = frame.select(f"{payload}.*")
        require_key_found(output, columns)
        schema = _schema(columns.schema, output)
        value = self._encode(output, sql.col(payload), schema)
        if isinstance(output.step, TableRows):
            # A key whose row is gone has no value.
            value = sql.when(~sql.expr(reached.places[DELETED]), value)
        return sent_row(route.number, key_of(output, payload), value)


def _selected(
    told: Expression, places: Mapping[str, str], frame: DataFrame
) -> str | Column:
    """Give the place of what is a column already, and compute anything else."""
    return places.get(told.text.strip("`")) or evaluated(told.placed(places), frame)


def _of_type(place: str, kind: DataType, frame: DataFrame) -> str | Column:
    value = sql.expr(place)
    return place if frame.select(value).schema[0].dataType == kind else value.cast(kind)


def _kept(step: RowByRow | Union, places: Mapping[str, str]) -> Column | None:
    """Give the condition on which a step keeps a row; None if it keeps all."""
    match step:
        case Where():
            return sql.expr(step.condition.placed(places))
        case Select() | Union():
            return None
    return sql.col(places[KIND]) == kind_of(step)


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
