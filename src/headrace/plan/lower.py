"""Lower steps to data frames; unreadable inputs ride along untouched.

Every frame here has a step's columns and three more: ``_origin``, where an event came
from, ``_dead``, which is set for an input that could not be read, and ``_read``, the
number of its source. Dead rows pass every step as they are, so one evaluation of the
source feeds the sinks and the dead letters alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from pyspark.errors import AnalysisException
from pyspark.sql import functions as sql
from pyspark.sql.types import DecimalType, IntegralType

from headrace._spark import bridge
from headrace._spark.joins import (
    Stored,
    ask_remote,
    join,
    join_tables,
    look_up,
    look_up_held,
)
from headrace._spark.stored import last_batch, stored_rows
from headrace._spark.trees import know_trees
from headrace.errors import StepError
from headrace.plan.changes import KeepTable
from headrace.plan.chosen import KIND, Chosen, chosen_columns, kind_of
from headrace.plan.grouped import grouped
from headrace.plan.groups import GroupTable
from headrace.plan.join_steps import Join, behind
from headrace.plan.lookup_steps import LookUp
from headrace.plan.lowered_sides import (
    alike,
    joined_rows,
    remote_terms,
    require_same_kind,
)
from headrace.plan.remote_steps import RemoteRows
from headrace.plan.steps import (
    Dedupe,
    Read,
    Select,
    Stateful,
    Step,
    Transform,
    Union,
    Where,
    walk,
)
from headrace.plan.surroundings import Surroundings
from headrace.plan.table_joins import JoinTables
from headrace.plan.widths import widened
from headrace.plan.window_steps import Window
from headrace.trees.model import FUNCTION

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from headrace.schema.expressions import Expression
    from headrace.schema.types import Record

CARRIED = ("_origin", "_dead", "_read")

Open = Callable[[Read], "DataFrame"]
"""Gives the decoded frame of a source: its event's columns, _origin and _dead."""


class Lowering:
    """Turns steps into frames, each step once.

    Args:
        open_source: Gives the decoded frame of a source.
        native: The joins that Spark itself runs.
        around: Where the query goes on from, and whom it may ask.
    """

    def __init__(
        self,
        open_source: Open,
        native: Collection[Step] = (),
        around: Surroundings = Surroundings(),  # noqa: B008 - frozen
    ) -> None:
        self._open_source = open_source
        self._native = native
        self._around = around
        self._frames: dict[Step, DataFrame] = {}
        self._numbers: dict[Read, int] = {}

    def frame(self, step: Step, *, heard: Collection[Read] = ()) -> DataFrame:
        """Give the frame of a step.

        Args:
            step: The step.
            heard: Sources whose dead letters another frame carries already.
        """
        if step not in self._frames:
            with named(step):
                self._frames[step] = self._lower(step)
        frame = self._frames[step]
        numbers = [self._numbers[read] for read in reads(step) if read in heard]
        if not numbers:
            return frame
        return frame.where(sql.isnull("_dead") | ~sql.col("_read").isin(numbers))

    def _lower(self, step: Step) -> DataFrame:
        match step:
            case Where():
                kept = true_for(sql.expr(step.condition.text))
                return self.frame(step.input).where(_if_alive(kept).otherwise(True))
            case Select():
                before = self.frame(step.input)
                chosen = [
                    _computed(expression, step.input.columns, before).alias(name)
                    for name, expression in step.expressions.items()
                ]
                return before.select(*chosen, *CARRIED)
            case Union():
                return self._union(step)
            case Transform():
                return self._transform(step)
        if isinstance(step, Chosen):
            return self._chosen(step)
        return self._evaluated(step)

    def _evaluated(self, step: Step) -> DataFrame:
        """Give the frame of a source, or of a step that keeps state."""
        match step:
            case Read():
                number = self._numbers.setdefault(step, len(self._numbers))
                return self._open_source(step).withColumn("_read", sql.lit(number))
            case Dedupe():
                is_behind = behind(step.input) is not None
                return bridge.dedupe(
                    self._clocked(step.input), step, is_behind=is_behind
                )
            case KeepTable():
                return bridge.table(self._clocked(step.input), step)
            case GroupTable():
                return grouped(self._clocked(step.input), step)
            case Window():
                return bridge.window(self._clocked(step.input), step)
        return self._joined(step)

    def _joined(self, step: Step) -> DataFrame:
        """Give the frame of a step that has two sides."""
        match step:
            case Join():
                return self._join(step)
            case LookUp():
                return self._look_up(step)
            case JoinTables():
                return self._join_tables(step)
        raise AssertionError(step)

    def _union(self, step: Union) -> DataFrame:
        """Put streams together; a source that several share is heard once.

        Where one of them drives the watermark already, all of them must.
        """
        first, *others = step.streams
        give = self._clocked if _is_clocked(step) else self.frame
        frame, heard = give(first), reads(first)
        for other in others:
            added = give(other, heard=heard)
            _require_same_types(step, frame, added)
            frame = frame.unionByName(added)
            heard |= reads(other)
        return frame

    def _join(self, step: Join) -> DataFrame:
        """Join two streams; a source that both share is heard once."""
        left = self._clocked(step.input)
        right = self._clocked(step.other, heard=reads(step.input))
        return join(*alike(step, left, right), step, native=step in self._native)

    def _look_up(self, step: LookUp) -> DataFrame:
        """Answer events by a table; a source that both share is heard once."""
        events = self._clocked(step.input)
        if isinstance(step.other, RemoteRows):
            return ask_remote(events, remote_terms(step, step.other, self._around))
        changes = self._clocked(step.other, heard=reads(step.input))
        row = cast("StructType", changes.schema["after"].dataType)
        for one, other in step.sides.on:
            kinds = events.schema[one].dataType, row[other].dataType
            if all(isinstance(kind, IntegralType) for kind in kinds):
                same = sql.col(f"`{one}`").cast(kinds[1])
                events = events.withColumn(one, same)
            else:
                require_same_kind(step.name, (one, other), kinds, step.where)
        if step.lookup.is_held:
            return look_up_held(events, changes, self._stored(step.other), step)
        return look_up(events, changes, step)

    def _stored(self, table: Step) -> Stored | None:
        """Give the rows of a table that the last committed batch had."""
        keep = next(step for step in walk(table) if isinstance(step, KeepTable))
        frame = self.frame(keep)
        path, spark = self._around.checkpoint, frame.sparkSession
        batch = -1 if path is None else last_batch(spark, path)
        if path is None or batch < 0:
            return None
        row = frame.schema["after"].dataType
        rows = stored_rows(spark, path, batch, keep.name, row)
        columns = [
            sql.col("after")
            if field.name == "after"
            else sql.lit(None).cast(field.dataType).alias(field.name)
            for field in frame.schema
        ]
        # What the table's verbs do to changes, they do to rows that were never changed.
        later = Lowering(self._open_source)
        later._frames[keep] = rows.select(*columns)
        return Stored(later.frame(table).where("after is not null"), batch)

    def _join_tables(self, step: JoinTables) -> DataFrame:
        """Join two tables, and give the rows of the result as one struct each."""
        left = self._clocked(step.input)
        right = self._clocked(step.other, heard=reads(step.input))
        rows = [cast("StructType", f.schema["after"].dataType) for f in (left, right)]
        for one, other in step.sides.on:
            kinds = rows[0][one].dataType, rows[1][other].dataType
            require_same_kind(step.name, (one, other), kinds, step.where)
        told = join_tables(left, right, step)
        return told.select(
            joined_rows(step, "before").alias("before"),
            joined_rows(step, "after").alias("after"),
            sql.lit(None).cast("bigint").alias("position"),
            "changed_at",
            *CARRIED,
        )

    def _clocked(self, step: Step, *, heard: Collection[Read] = ()) -> DataFrame:
        """Give a frame that drives the watermark; Spark wants that said only once.

        What has a time since it was read does so from there on. Where a transform gave
        the time, it is followed as it comes.
        """
        frame = self.frame(step, heard=heard)
        if step.time is None or _is_clocked(step):
            return frame
        return frame.withWatermark(step.time, "0 seconds")

    def _chosen(self, step: Chosen) -> DataFrame:
        """Give panes, results or late events, and the dead letters."""
        before = self.frame(step.input)
        told = chosen_columns(step)
        columns = [
            _if_alive(widened(value_at(told[field.name]), field.type, before)).alias(
                field.name
            )
            for field in step.columns
        ]
        chosen = (sql.col(KIND) == kind_of(step)) | sql.isnotnull("_dead")
        return before.where(chosen).select(*columns, *CARRIED)

    def _transform(self, step: Transform) -> DataFrame:
        """Keep dead letters away from the user's function."""
        before = self.frame(step.input)
        living = before.where("_dead is null").drop(*CARRIED)
        after = step.function(living)
        _require_columns(step, living, after)
        nothing = {
            name: sql.lit(None).cast(before.schema[name].dataType) for name in CARRIED
        }
        changed = after.select(*_quoted(step.columns.names)).withColumns(nothing)
        dead = before.where("_dead is not null").select(
            *(
                sql.lit(None).cast(changed.schema[name].dataType).alias(name)
                for name in step.columns.names
            ),
            *CARRIED,
        )
        return changed.unionByName(dead)


def _is_clocked(step: Step) -> bool:
    return any(
        isinstance(earlier, Stateful)
        or (isinstance(earlier, Read) and earlier.time is not None)
        for earlier in walk(step)
    )


def reads(step: Step) -> set[Read]:
    """Give the sources that feed a step."""
    return {read for read in walk(step) if isinstance(read, Read)}


def _computed(expression: Expression, columns: Record, before: DataFrame) -> Column:
    """Compute for the living; a column as it is stays one, and may be a clock."""
    computed = evaluated(expression.text, before)
    if expression.text.strip("`") in columns:
        return computed
    return _if_alive(widened(computed, expression.type, before))


def evaluated(text: str, before: DataFrame) -> Column:
    """Give the column of an expression's text, which may be that of a model."""
    if FUNCTION in text:
        know_trees(before.sparkSession, FUNCTION)
    return sql.expr(text)


def value_at(told: str | Column) -> Column:
    """Give the value that was told, be it by its place."""
    return sql.expr(told) if isinstance(told, str) else told


def _if_alive(value: Column) -> Column:
    """Give a value of events alone: nothing may fail over a dead letter's nulls."""
    return sql.when(sql.isnull("_dead"), value)


def true_for(condition: Column) -> Column:
    """Give whether a condition is true: one that is null is not."""
    return sql.coalesce(condition, sql.lit(False))


@contextmanager
def named(step: Step) -> Iterator[None]:
    """Say which step it is that Spark does not take.

    Raises:
        StepError: [step-refused] with Spark's reason and the step's place.
    """
    try:
        yield
    except AnalysisException as error:
        raise StepError(
            "step-refused",
            f"Spark does not take the step {step.verb} `{step.summary}`",
            detail=str(error).strip().splitlines()[0],
            where=step.where,
        ) from error


def _quoted(names: Sequence[str]) -> list[str]:
    return [f"`{name}`" for name in names]


def _require_columns(step: Transform, before: DataFrame, after: DataFrame) -> None:
    """Compare with the declared types, or with the very ones that were given."""
    given = {field.name: field.dataType.simpleString() for field in after.schema}
    same = step.columns is step.input.columns
    for field in step.columns:
        wanted = field.type.sql
        if same:
            wanted = before.schema[field.name].dataType.simpleString()
        found = given.get(field.name, "absent")
        if found != wanted:
            raise StepError(
                "transform-columns-differ",
                f'transform "{step.summary}" gives other columns than declared',
                detail=f'"{field.name}" should be {wanted} and is {found}.',
                hint="declare the result with `gives=`, or give the same columns.",
                where=step.where,
            )


def _require_same_types(step: Union, one: DataFrame, other: DataFrame) -> None:
    """Compare what could not be told when the union was declared."""
    right = {field.name: field.dataType for field in other.schema}
    for field in one.schema:
        left, found = field.dataType, right[field.name]
        alike = any(
            isinstance(left, kind) and isinstance(found, kind)
            for kind in (IntegralType, DecimalType)
        )
        if left.simpleString() != found.simpleString() and not alike:
            raise StepError(
                "union-columns-differ",
                "the streams of a union have different columns",
                detail=f'"{field.name}" is {left.simpleString()} in one and '
                f"{found.simpleString()} in the other.",
                hint="use select or derive with a cast to make them the same.",
                where=step.where,
            )
