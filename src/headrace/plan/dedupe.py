"""Check a dedupe while it is declared."""

from __future__ import annotations

from datetime import timedelta

from headrace.errors import StepError
from headrace.plan.lookups import require_uncorrected
from headrace.plan.steps import Dedupe, Step
from headrace.plan.window_steps import windows
from headrace.schema.expressions import unknown_column
from headrace.schema.keys import derived_key, why_no_key
from headrace.schema.names import require_name


def dedupe_step(
    before: Step, name: str, by: str, within: timedelta, where: str
) -> Dedupe:
    """Give the step that keeps the first event of each id.

    Raises:
        StepError: [name-refused], [dedupe-needs-time], [column-unknown],
            [key-type-unsupported], [within-not-positive], [dedupe-after-window].
    """
    require_name(name, "a step", where)
    _require_before_windows(name, before, where)
    require_uncorrected(f'dedupe "{name}"', before, where)
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
    reason = why_no_key(kind)
    if reason is not None:
        raise StepError(
            "key-type-unsupported",
            f'column "{by}" of type {kind.sql} cannot be an id',
            detail=reason,
            hint=f"add an id of another type: {derived_key(by, kind)}.",
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


def _require_before_windows(name: str, before: Step, where: str) -> None:
    earlier = next(windows(before), None)
    if earlier is not None:
        raise StepError(
            "dedupe-after-window",
            f'dedupe "{name}" is fed by window "{earlier.name}"',
            detail=f"it is declared at {earlier.where}; both would follow one "
            "watermark, which is at the end of a window when it fires.",
            hint="drop duplicates before the window; its panes have a `window_id` and "
            "a `pane_number`, which no other pane has.",
            where=where,
        )
