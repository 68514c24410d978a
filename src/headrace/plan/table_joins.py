"""Check a join of two tables while it is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from headrace.errors import StepError
from headrace.plan.columns import require_column_names
from headrace.plan.join_keys import require_on
from headrace.plan.join_steps import Sides
from headrace.plan.joins import added_columns, joined_sides, require_no_clash
from headrace.plan.lookups import Kept, require_primary
from headrace.plan.steps import Stateful, Step
from headrace.schema.names import require_name
from headrace.schema.types import Field, Record

KINDS = ("inner", "left", "full")


@dataclass(frozen=True, eq=False)
class JoinTables(Stateful):
    """Join two tables, and give what each batch has changed of the result.

    `input` gives the changes of the left table, `other` those of the right one.
    """

    other: Step
    sides: Sides
    kind: str
    left_key: tuple[str, ...]

    verb: ClassVar[str] = "join"

    @property
    def inputs(self) -> tuple[Step, ...]:
        """The left table and the right."""
        return (self.input, self.other)

    @property
    def summary(self) -> str:
        """Name kind and key."""
        on = ", ".join(a if a == b else f"{a} = {b}" for a, b in self.sides.on)
        return f'"{self.name}", {self.kind} of two tables on {on}'

    @property
    def state(self) -> str:
        """Say what is kept for how long."""
        return "the rows of both tables"

    @property
    def operators(self) -> int:
        """One, or two where a row can go from one partner to another."""
        by_key = sorted(a for a, _ in self.sides.on) == sorted(self.left_key)
        return 1 if by_key else 2

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know."""
        return {
            "name": self.name,
            "kind": self.kind,
            "left_on": [a for a, _ in self.sides.on],
            "right_on": [b for _, b in self.sides.on],
            "left_key": list(self.left_key),
        }


@dataclass(frozen=True)
class AskedTables:
    """What a user asks of a join of two tables."""

    name: str
    on: str | Mapping[str, str]
    kind: str
    prefix: str | None


def join_tables(left: Kept, right: Kept, asked: AskedTables, where: str) -> JoinTables:
    """Give the step that tells what changes in the join of two tables.

    Raises:
        StepError: What was asked for cannot be; `Table.join` has the list.
    """
    name, kind = asked.name, asked.kind
    require_name(name, "a step", where)
    if kind not in KINDS:
        shown = ", ".join(f'"{choice}"' for choice in KINDS)
        raise StepError(
            "option-unknown",
            f"there is no kind={kind!r} in a join of two tables",
            hint=f"choose from {shown}.",
            where=where,
        )
    on = require_on(name, asked.on, left.row, right.row, where)
    require_primary(name, right, [b for _, b in on], where)
    if not left.key or kind == "full":
        require_primary(name, left, [a for a, _ in on], where)
    sides = joined_sides(on, right.row, asked.prefix)
    row = _row(left.row, right.row, sides, asked, where)
    before = left.step.columns
    columns = Record(
        (
            Field("before", row, required=False),
            Field("after", row, required=False),
            replace(before["position"], required=False),
            before["changed_at"],
        )
    )
    key = tuple(left.key)
    return JoinTables(
        *(columns, None, "changed_at", where, left.step, name),
        *(right.step, sides, kind, key),
    )


def joined_row(step: JoinTables) -> Record:
    """Give the columns of a row of the result."""
    return cast("Record", step.columns["after"].type)


def _row(
    left: Record, right: Record, sides: Sides, asked: AskedTables, where: str
) -> Record:
    is_left_there = asked.kind != "full"
    own = [
        replace(
            field,
            required=field.required and (is_left_there or field.name in sides.merged),
        )
        for field in left
    ]
    added = added_columns(right, sides, required=asked.kind == "inner")
    require_no_clash(left, added, asked.name, where)
    require_column_names([field.name for field in (*own, *added)], where)
    return Record((*own, *added))
