"""The steps of a join with a table: the operator, and what a stream sees of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, ClassVar

from headrace.joins.lookup import Lookup
from headrace.plan.changes import KeepTable
from headrace.plan.join_steps import MOMENT, AnyJoin, behind
from headrace.plan.steps import OneInput, Step, walk
from headrace.windows.lengths import microseconds


@dataclass(frozen=True, eq=False)
class LookUp(AnyJoin):
    """Answer events with a table's rows; late events are among its rows.

    `input` gives the events, `other` every change of the table.
    """

    lookup: Lookup

    @property
    def summary(self) -> str:
        """Name kind, key and table."""
        on = ", ".join(a if a == b else f"{a} = {b}" for a, b in self.sides.on)
        return f'"{self.name}", {self.kind} on {on}, {self.lookup}'

    @property
    def state(self) -> str:
        """Say what is kept for how long."""
        return self.lookup.kept(", ".join(b for _, b in self.sides.on))

    @property
    def keeps_state(self) -> bool:
        """Whether Spark keeps state for it, beside that of the table."""
        return self.lookup.keeps_state

    @property
    def late_events(self) -> str:
        """Say what becomes of late events."""
        if not self.lookup.looks_at_time:
            return "none: no time is looked at"
        within = f"answered for {self.lookup.retention}, then "
        return within + (
            "dropped and counted" if self.late == "drop" else "go to the side output"
        )

    @property
    def has_late_events(self) -> bool:
        """Whether late events go on as a stream of their own."""
        return self.late != "drop" and self.lookup.looks_at_time

    @property
    def delay(self) -> timedelta | None:
        """How much later than its time a result may come; None if it comes at once."""
        before = behind(self.input)
        if self.lookup.when != "settled" and not self.lookup.waits:
            return before
        return (before or timedelta(0)) + self.lookup.grace + MOMENT

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know."""
        later = behind(self.input)
        return {
            "name": self.name,
            **self.lookup.terms,
            "key": [a for a, _ in self.sides.on],
            "table_key": [b for _, b in self.sides.on],
            "time": self.input.time,
            "tells_missing": self.kind == "left",
            "grace_us": microseconds(self.lookup.grace),
            "retention_us": min(microseconds(self.lookup.retention), 2**61),
            "keep_late": self.has_late_events,
            "behind_us": None if later is None else microseconds(later),
        }


@dataclass(frozen=True, eq=False)
class MissingRows(OneInput):
    """The events for which a table had no row, row by row."""

    input: LookUp

    verb: ClassVar[str] = "missing"

    @property
    def summary(self) -> str:
        """Name the join."""
        return f'events without a row in "{self.input.name}"'


def kept_apart(table: Step, name: str, *, every: bool) -> Step:
    """Give a table's changes out of a state of their own.

    Args:
        table: The step that gives the table's net changes.
        name: What the state is kept under that knows the row before each change.
        every: Whether they are told one by one, and not netted by batch.
    """
    if isinstance(table, KeepTable):
        return replace(table, name=name, every=every)
    if not isinstance(table, OneInput):
        raise TypeError(table)
    return replace(table, input=kept_apart(table.input, name, every=every))


def correcting(step: Step) -> LookUp | None:
    """Give a join with a table whose results reach a step and can be corrected."""
    found: Iterator[LookUp] = (s for s in walk(step) if isinstance(s, LookUp))
    return next((one for one in found if one.lookup.corrects), None)
