"""Check a join of a stream with a table while it is declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from headrace.errors import DeliveryError, StepError
from headrace.joins.asking import Asking
from headrace.joins.interval import LATE
from headrace.joins.lookup import Lookup
from headrace.plan.changes import KeepTable
from headrace.plan.columns import require_column_names
from headrace.plan.join_keys import require_no_panes, require_on, require_timed
from headrace.plan.join_steps import Joined
from headrace.plan.joins import added_columns, joined_sides, require_no_clash
from headrace.plan.lookup_steps import LookUp, MissingRows, correcting, kept_apart
from headrace.plan.steps import Output, Stateful, Step, walk
from headrace.schema.names import require_name
from headrace.schema.types import Record
from headrace.windows.lengths import require_timedelta

KINDS = ("left", "inner")


class Kept(Protocol):
    """A table, as far as a join asks."""

    @property
    def step(self) -> Step:
        """The step that gives its changes."""

    @property
    def row(self) -> Record:
        """The columns of a row."""

    @property
    def key(self) -> Sequence[str]:
        """The columns of its key; empty if it has lost one of them."""


@dataclass(frozen=True)
class AskedLookup:
    """What a user asks of a join with a table."""

    name: str
    on: str | Mapping[str, str]
    lookup: Lookup
    kind: str
    late: str
    prefix: str | None


def lookup_step(events: Step, table: Kept, asked: AskedLookup, where: str) -> Joined:
    """Give the step that tells events with their rows.

    Raises:
        StepError: What was asked for cannot be; `Stream.join` has the list.
    """
    name = asked.name
    require_name(name, "a step", where)
    _require_options(asked, where)
    _require_durations(name, asked.lookup, where)
    if asked.lookup.needs_time:
        require_timed(name, events, where)
    else:
        require_no_panes(name, events, where)
    require_uncorrected(f'join "{name}"', events, where)
    on = require_on(name, asked.on, events.columns, table.row, where)
    require_primary(name, table, [b for _, b in on], where)
    _require_one_table(name, table, where)
    sides = joined_sides(on, table.row, asked.prefix)
    added = added_columns(table.row, sides, required=asked.kind == "inner")
    require_no_clash(events.columns, added, name, where)
    columns = (*events.columns, *added)
    require_column_names([field.name for field in columns], where)
    step = LookUp(
        Record(columns),
        events.key,
        events.time,
        where,
        events,
        name,
        _rows(table, asked),
        sides,
        asked.kind,
        asked.late,
        asked.lookup,
    )
    return Joined(step.columns, step.key, step.time, where, step)


def _rows(table: Kept, asked: AskedLookup) -> Step:
    """Give the step that tells of the table's rows."""
    if isinstance(asked.lookup, Asking):
        return table.step
    return kept_apart(table.step, f"{asked.name}-rows", every=not asked.lookup.is_held)


def missing_rows(step: Step, where: str) -> MissingRows:
    """Give the step that tells the events for which a table had no row.

    Raises:
        StepError: [missing-rows-absent] there are none.
    """
    join = step.input if isinstance(step, Joined) else None
    if not isinstance(join, LookUp) or join.lookup.missing != "side-output":
        fact = f"a stream made by {step.verb} sets no events apart"
        if isinstance(join, LookUp):
            fact = f'join "{join.name}" has missing="{join.lookup.missing}"'
        raise StepError(
            "missing-rows-absent",
            fact,
            detail="only a join with a table can set apart the events for which there "
            "is no row.",
            hint='ask it to: lookup=settled(missing="side-output"), and take '
            "`.missing` from the stream that it gave.",
            where=where,
        )
    before = join.input
    return MissingRows(before.columns, before.key, before.time, where, join)


def require_correctable(output: Output) -> None:
    """Refuse an output that gives corrections no key to replace by.

    Raises:
        DeliveryError: [sink-not-keyed] a correction would stand beside what it
            corrects.
    """
    join = correcting(output.step)
    if join is None or output.keys:
        return
    raise DeliveryError(
        "sink-not-keyed",
        f'output "{output.name}" cannot take the corrections of join "{join.name}"',
        detail="an event that was told without a row is told again with it, and what "
        f"is written to {output.sink.target} has no key to replace by.",
        hint=f'key it by the event: sinks.{output.sink.system}(..., key="..."); or '
        'use missing="wait".',
        where=output.where,
    )


def require_uncorrected(what: str, step: Step, where: str) -> None:
    """Refuse a step that keeps state behind a join whose results are corrected.

    Raises:
        StepError: [corrections-followed] it would take a correction for an event.
    """
    join = correcting(step)
    if join is not None:
        raise StepError(
            "corrections-followed",
            f'{what} is fed by join "{join.name}", which corrects its results',
            detail=f"it is declared at {join.where}; an event that is told a second "
            "time would count twice.",
            hint='use missing="wait", or "null".',
            where=where,
        )


def require_primary(name: str, table: Kept, by: Sequence[str], where: str) -> None:
    """Refuse to look rows of a table up by anything but its key.

    Raises:
        StepError: [join-key-not-primary] the columns are not the table's key.
    """
    asked = sorted(by)
    if table.key and asked == sorted(table.key):
        return
    key = ", ".join(table.key)
    detail = f"its key is {key}." if table.key else "its key was left out."
    raise StepError(
        "join-key-not-primary",
        f'join "{name}" looks rows up by {", ".join(asked)}, which is not the key of '
        "the table",
        detail=f"{detail} A row is found by its whole key.",
        hint=f'give all of it: on="{table.key[0]}".'
        if len(table.key) == 1
        else "give all of it, or keep the table's key in its columns.",
        where=where,
    )


def _require_one_table(name: str, table: Kept, where: str) -> None:
    steps = [step for step in walk(table.step) if isinstance(step, Stateful)]
    made = next((step for step in steps if not isinstance(step, KeepTable)), None)
    if made is not None:
        raise StepError(
            "lookup-of-joined-table",
            f'join "{name}" looks rows up in "{made.name}", which is made of others',
            detail=f"it is declared at {made.where}; it tells the net change of each "
            "batch, and not which row there was at each time.",
            hint="write it into a topic, and read that as a table elsewhere.",
            where=where,
        )


def _require_options(asked: AskedLookup, where: str) -> None:
    given: dict[str, tuple[object, Sequence[str]]] = {
        "kind": (asked.kind, KINDS),
        "late": (asked.late, LATE),
        "missing": (asked.lookup.missing, asked.lookup.choices),
    }
    for option, (value, choices) in given.items():
        if value not in choices:
            shown = ", ".join(f'"{choice}"' for choice in choices)
            raise StepError(
                "option-unknown",
                f"there is no {option}={value!r} in a join with a table",
                hint=f"choose from {shown}.",
                where=where,
            )
    lookup = asked.lookup
    counts: dict[str, object] = {}
    if isinstance(lookup, Asking):
        counts["cached"] = lookup.cached
    elif lookup.is_held:
        counts["most_megabytes"] = lookup.most_megabytes
    for option, count in counts.items():
        if not isinstance(count, int) or count < 1:
            raise StepError(
                "count-below-one",
                f'{option} of join "{asked.name}" is {count}',
                hint="give a whole number, one or more.",
                where=where,
            )


def _require_durations(name: str, lookup: Lookup, where: str) -> None:
    lengths = {"grace": lookup.grace, "retention": lookup.retention}
    if isinstance(lookup, Asking):
        lengths = {"fresh": lookup.fresh, "timeout": lookup.timeout}
    for option, length in lengths.items():
        require_timedelta(length, option, where)
        if length < timedelta(0):
            raise StepError(
                "duration-negative",
                f"{option} is {length.total_seconds():g} seconds",
                hint="give zero or more: minutes(10).",
                where=where,
            )
    if isinstance(lookup, Asking) and lookup.timeout < timedelta(milliseconds=1):
        raise StepError(
            "duration-not-positive",
            f'join "{name}" waits for no answer',
            hint="give a time above zero: timeout=seconds(5).",
            where=where,
        )
    if lookup.retention < lookup.grace:
        raise StepError(
            "retention-too-short",
            f'join "{name}" waits for {lookup.grace} and keeps rows for '
            f"{lookup.retention}",
            detail="the row of an event that waits could be gone before its answer.",
            hint=f"keep them at least as long: retention={lookup.grace!r}.",
            where=where,
        )
