"""Check a join of two streams while it is declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from headrace.errors import StepError
from headrace.joins.interval import KINDS, LATE, Between
from headrace.plan.columns import require_column_names
from headrace.plan.join_keys import require_on, require_timed
from headrace.plan.join_steps import AnyJoin, Join, Joined, LateRows, Sides
from headrace.plan.steps import Step
from headrace.plan.window_steps import LATE_BY
from headrace.schema.names import require_name
from headrace.schema.types import Field, Record, Whole
from headrace.windows.lengths import require_timedelta


@dataclass(frozen=True)
class AskedJoin:
    """What a user asks of a join of two streams."""

    name: str
    on: str | Mapping[str, str]
    within: Between | timedelta | None
    kind: str
    late: str
    prefix: str | None


def join_step(left: Step, right: Step, asked: AskedJoin, where: str) -> Joined:
    """Give the step that tells the results of a join.

    Raises:
        StepError: What was asked for cannot be; `Stream.join` has the list.
    """
    require_name(asked.name, "a step", where)
    _require_options(asked, where)
    within = _interval(asked, where)
    for step in (left, right):
        require_timed(asked.name, step, where)
    on = require_on(asked.name, asked.on, left.columns, right.columns, where)
    sides = joined_sides(on, right.columns, asked.prefix)
    columns = _columns(left, right, sides, asked, where)
    _require_room_for_late(asked, (left, right), where)
    key, time = _key_and_time(left, right, sides, asked.kind)
    join = Join(
        Record(columns),
        key,
        time,
        where,
        left,
        asked.name,
        right,
        sides,
        asked.kind,
        asked.late,
        within,
    )
    return Joined(join.columns, key, time, where, join)


def late_rows(join: AnyJoin, *, is_left: bool, where: str) -> LateRows:
    """Give the step that tells the late rows of one side.

    Raises:
        StepError: [late-events-absent] the join drops them.
    """
    if not join.has_late_events:
        dropped = join.late == "drop"
        why = 'has late="drop"' if dropped else "looks at no time"
        raise StepError(
            "late-events-absent",
            f'join "{join.name}" {why}, so it has no late events',
            detail=f"it is declared at {join.where}.",
            hint='leave out late="drop".' if dropped else None,
            where=where,
        )
    side = join.input if is_left else join.other
    columns = Record((*side.columns, Field(LATE_BY, Whole(), required=False)))
    return LateRows(columns, side.key, side.time, where, join, is_left)


def joined_sides(
    on: tuple[tuple[str, str], ...], right: Record, prefix: str | None
) -> Sides:
    """Say what the columns of the right are called in the result.

    A column of the key that has one name on both sides is there once.
    """
    merged = frozenset(b for a, b in on if a == b)
    renamed = {
        name: name if name in merged or prefix is None else prefix + name
        for name in right.names
    }
    return Sides(on, renamed, merged)


def added_columns(right: Record, sides: Sides, *, required: bool) -> list[Field]:
    """Give the columns that a result has beside those of the left."""
    return [
        replace(
            field,
            name=sides.renamed[field.name],
            required=field.required and required,
        )
        for field in right
        if field.name not in sides.merged
    ]


def require_no_clash(left: Record, added: list[Field], name: str, where: str) -> None:
    """Refuse a column of the right that has the name of one of the left.

    Raises:
        StepError: [column-taken] one has.
    """
    taken = {name.lower() for name in left.names}
    clash = next((f.name for f in added if f.name.lower() in taken), None)
    if clash is not None:
        raise StepError(
            "column-taken",
            f'both sides of join "{name}" have a column "{clash}"',
            hint=f"rename one before it, or give the right side's a prefix: prefix=\""
            f'{name.replace("-", "_")}_".',
            where=where,
        )


def _columns(
    left: Step, right: Step, sides: Sides, asked: AskedJoin, where: str
) -> tuple[Field, ...]:
    if asked.kind in {"semi", "anti"}:
        return tuple(left.columns)
    is_left_there = asked.kind in {"inner", "left"}
    is_right_there = asked.kind in {"inner", "right"}
    own = [
        replace(
            field,
            # A key that both sides have is there with either of them.
            required=field.required
            and (
                is_left_there
                or (field.name in sides.merged and right.columns[field.name].required)
            ),
        )
        for field in left.columns
    ]
    added = added_columns(right.columns, sides, required=is_right_there)
    require_no_clash(left.columns, added, asked.name, where)
    require_column_names([field.name for field in (*own, *added)], where)
    return (*own, *added)


def _key_and_time(
    left: Step, right: Step, sides: Sides, kind: str
) -> tuple[str | None, str | None]:
    if kind not in {"right", "full"}:
        return left.key, left.time
    key = sides.renamed[right.key] if right.key else None
    if kind == "right":
        return key, sides.renamed[right.time] if right.time else None
    # Either side may be absent: only what both have is there in any case.
    return key if key in sides.merged and key == left.key else None, None


def _interval(asked: AskedJoin, where: str) -> Between:
    within = asked.within
    if within is None:
        raise StepError(
            "join-without-bound",
            f'join "{asked.name}" of two streams has no bound in time',
            detail="each row would be kept for ever, as a partner could always come.",
            hint="say how far apart two rows may be: within=minutes(10), or "
            "within=between(seconds(0), minutes(10)) where the right one is later.",
            where=where,
        )
    if isinstance(within, Between):
        found = within
    else:
        require_timedelta(within, "an interval", where)
        found = Between(-within, within)
    for end in (found.least, found.most):
        require_timedelta(end, "an interval", where)
    if found.is_reversed:
        raise StepError(
            "interval-reversed",
            f'join "{asked.name}" takes rows {found}, and no row is',
            hint="give the lesser end first: between(seconds(0), minutes(10)).",
            where=where,
        )
    return found


def _require_options(asked: AskedJoin, where: str) -> None:
    given = {"kind": (asked.kind, KINDS), "late": (asked.late, LATE)}
    for option, (value, choices) in given.items():
        if value not in choices:
            shown = ", ".join(f'"{choice}"' for choice in choices)
            raise StepError(
                "option-unknown",
                f"there is no {option}={value!r}",
                hint=f"choose from {shown}.",
                where=where,
            )


def _require_room_for_late(
    asked: AskedJoin, sides: tuple[Step, Step], where: str
) -> None:
    taken = any(n.lower() == LATE_BY for s in sides for n in s.columns.names)
    if taken and asked.late != "drop":
        raise StepError(
            "column-taken",
            f'late rows have a column "{LATE_BY}", and a side of the join has one too',
            hint='rename it before the join, or set late="drop".',
            where=where,
        )
