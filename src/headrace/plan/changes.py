"""The steps of change streams and tables: what is read, and what is kept of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, ClassVar

from headrace.cdc import CapturedTable
from headrace.errors import StepError
from headrace.event import EventType, event_type
from headrace.plan.steps import Read, Select, Stateful, Step, walk
from headrace.schema.expressions import unknown_column
from headrace.schema.keys import derived_key, why_no_key
from headrace.schema.names import require_name
from headrace.schema.types import Field, ListOf, Moment, Record, Text, Truth, Whole
from headrace.sources import KafkaSource
from headrace.windows.lengths import microseconds
from headrace.windows.watermarks import Strategy

DELETED = "_deleted"
"""The column of a frame that says of a row that its key has none any more."""

_UNFIT = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 63


@dataclass(frozen=True, eq=False)
class ReadChanges(Read):
    """Read the changes of a table's rows, whichever way their topic tells them.

    `row` has the columns of the table, `by` those of its key; `number` tells it apart
    from others of the pipeline.
    """

    row: Record
    by: tuple[str, ...]
    number: int

    verb: ClassVar[str] = "changes"

    @property
    def is_captured(self) -> bool:
        """Whether a connector writes the topic; otherwise its records are rows."""
        return isinstance(self.source, CapturedTable)


@dataclass(frozen=True, eq=False)
class KeepTable(Stateful):
    """Keep the last row of each key, and give what each batch has changed.

    With `every` each change is given, and not only the net change of a batch.
    """

    input: ReadChanges
    remembered: timedelta
    every: bool = False

    verb: ClassVar[str] = "table"

    @property
    def by(self) -> tuple[str, ...]:
        """The columns of the key."""
        return self.input.by

    @property
    def summary(self) -> str:
        """Name the table and its key."""
        return f'"{self.name}", the last row of each {", ".join(self.by)}'

    @property
    def state(self) -> str:
        """Say what is kept for how long."""
        return (
            f"the row of each {', '.join(self.by)}; a deleted one's place until the "
            f"watermark is {self.remembered} beyond it"
        )

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know."""
        return {
            "name": self.name,
            "key": list(self.by),
            "captured": self.input.is_captured,
            "every_change": self.every,
            # Spark's numbers of time have 64 bits; what is longer is for ever.
            "remembered_us": min(microseconds(self.remembered), 2**62),
        }


@dataclass(frozen=True, eq=False)
class TableRows(Select):
    """The rows of a table on their way into a sink.

    Its expressions have one more than its columns: whether the row is deleted. Then
    the columns are those of the row that was there before. A key of several columns is
    `several`; the step has no one `key` then.
    """

    several: tuple[str, ...] = ()

    verb: ClassVar[str] = "rows"

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""
        return self.several or super().keys

    @property
    def summary(self) -> str:
        """Name the columns."""
        return f"{', '.join(self.columns.names)}, or that a row is gone"


def captured_tables(step: Step) -> set[CapturedTable]:
    """Give the captured tables whose changes come to a step."""
    return {
        read.source
        for read in walk(step)
        if isinstance(read, Read) and isinstance(read.source, CapturedTable)
    }


def read_changes(
    source: CapturedTable | KafkaSource,
    key: Sequence[str],
    watermark: Strategy,
    number: int,
    where: str,
) -> ReadChanges:
    """Give the step that reads the changes of a table.

    Raises:
        SchemaError: [not-an-event] the source's class was not declared.
        StepError: [rows-undeclared] a captured table has no class;
            [table-needs-key], [column-unknown], [key-type-unsupported],
            [event-field-optional] the key does not serve.
    """
    event = _event(source, where)
    by = tuple(key) or ((event.key,) if event.key else ())
    if isinstance(source, KafkaSource):
        _require_one_key(source, by, where)
    for name in by:
        _require_key(name, event, where)
    columns = _columns(event.record)
    return ReadChanges(
        columns, None, "changed_at", where, source, watermark, event.record, by, number
    )


def keep_table(
    read: ReadChanges, name: str | None, remembered: timedelta, where: str
) -> KeepTable:
    """Give the step that keeps the last row of each key.

    Raises:
        StepError: [name-refused], [table-needs-key], [duration-negative],
            [table-starts-late] it would not hold the rows that are there.
    """
    name = _name_of(read.topic) if name is None else name
    require_name(name, "a table", where)
    if not read.by:
        raise StepError(
            "table-needs-key",
            f'table "{name}" has no key',
            detail="a table holds the last row of each key.",
            hint='name it: table(source, key="user_id"), or @event(key="user_id").',
            where=where,
        )
    if read.start != "earliest":
        raise StepError(
            "table-starts-late",
            f'table "{name}" would start at the {read.start} record',
            detail="rows that do not change any more would never be in it.",
            hint='leave out start="latest".',
            where=where,
        )
    if remembered < timedelta(0):
        raise StepError(
            "duration-negative",
            f"remember_deleted is {remembered.total_seconds():g} seconds",
            hint="give zero or more: days(7).",
            where=where,
        )
    columns = Record(
        (
            Field("before", read.row, required=False),
            Field("after", read.row, required=False),
            read.columns["position"],
            read.columns["changed_at"],
        )
    )
    return KeepTable(columns, None, "changed_at", where, read, name, remembered)


def _columns(row: Record) -> Record:
    """Give the columns of a change; what it does not tell of a row is null."""
    told = Record(tuple(replace(field, required=False) for field in row))
    return Record(
        (
            Field("op", Text()),
            Field("before", told, required=False),
            Field("after", told, required=False),
            Field("position", Whole(), required=False),
            Field("transaction", Text(), required=False),
            Field("is_snapshot", Truth()),
            Field("changed_at", Moment()),
            Field("unchanged", ListOf(Text())),
        )
    )


def _event(source: CapturedTable | KafkaSource, where: str) -> EventType:
    if source.event is None:
        raise StepError(
            "rows-undeclared",
            f'nothing says what the rows of topic "{source.topic}" are',
            detail="the changes of a table are read by the class of its rows.",
            hint='give it: cdc.postgres("bank", "public.users", User), where User is '
            "declared with @event; `headrace cdc describe` prints one.",
            where=where,
        )
    return event_type(source.event)


def _require_one_key(source: KafkaSource, by: tuple[str, ...], where: str) -> None:
    if len(by) != 1:
        raise StepError(
            "table-needs-key",
            f'topic "{source.topic}" is no table without one key',
            detail="a record without a value takes away the row that its key names, "
            "and a record has one key.",
            hint='name it: table(source, key="user_id"), or @event(key="user_id").',
            where=where,
        )


def _require_key(name: str, event: EventType, where: str) -> None:
    if name not in event.record:
        raise unknown_column(name, event.record, "table", where)
    field = event.record[name]
    reason = why_no_key(field.type)
    if reason is not None:
        raise StepError(
            "key-type-unsupported",
            f'column "{name}" of type {field.type.sql} cannot be the key of a table',
            detail=reason,
            hint="a table is kept by its primary key, or by another column of its "
            f"own; {derived_key(name, field.type)} comes too late for that.",
            where=where,
        )
    if not field.required:
        raise StepError(
            "event-field-optional",
            f'the key "{event.name}.{name}" may be None',
            detail="every row of a table needs a key.",
            hint=f"take `| None` from `{name}`.",
            where=where,
        )


def _name_of(topic: str) -> str:
    """Call a table by its topic, as far as names can have its letters."""
    name = _UNFIT.sub("-", topic.lower()).strip("-")
    return (name if name[:1].isalpha() else f"t-{name}")[:_LONGEST_NAME].rstrip("-")
