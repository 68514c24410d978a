"""Check a dedupe while it is declared."""

from __future__ import annotations

from datetime import timedelta

from headrace.errors import StepError
from headrace.plan.steps import Dedupe, Step
from headrace.schema.expressions import unknown_column
from headrace.schema.names import require_name
from headrace.schema.types import ListOf, Real, Record


def dedupe_step(
    before: Step, name: str, by: str, within: timedelta, where: str
) -> Dedupe:
    """Give the step that keeps the first event of each id.

    Raises:
        StepError: [name-refused], [dedupe-needs-time], [column-unknown],
            [key-type-unsupported], [within-not-positive].
    """
    require_name(name, "a step", where)
    if before.time is None:
        raise StepError(
            "dedupe-needs-time",
            f'dedupe "{name}" is fed by a stream without an event time',
            detail="how long an id is remembered is measured by the events' own time.",
            hint='declare the event with `@event(time="...")`, and keep that column '
            "under its name or a new one; an expression of it is not the event time.",
            where=where,
        )
    if by not in before.columns:
        raise unknown_column(by, before.columns, f'dedupe "{name}"', where)
    kind = before.columns[by].type
    if isinstance(kind, Real | Record | ListOf):
        raise StepError(
            "key-type-unsupported",
            f'column "{by}" of type {kind.sql} cannot be an id',
            detail="ids are compared by their bytes, and equal values of this type "
            "can differ in them.",
            hint=f'add an id of another type: derive({by}_text="to_json({by})").'
            if isinstance(kind, Record | ListOf)
            else f'add an id of another type: derive({by}_text="string({by})").',
            where=where,
        )
    if within <= timedelta(0):
        raise StepError(
            "within-not-positive",
            f'dedupe "{name}" compares events within {within.total_seconds():g} s',
            hint="give a time above zero: within=hours(1).",
            where=where,
        )
    columns, key, time = before.columns, before.key, before.time
    return Dedupe(columns, key, time, where, before, name, by, within)
