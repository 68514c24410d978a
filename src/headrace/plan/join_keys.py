"""Check the keys and times of a join while it is declared."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.errors import StepError
from headrace.plan.join_steps import late_of_join
from headrace.plan.steps import Step
from headrace.plan.window_steps import windows
from headrace.schema.expressions import unknown_column
from headrace.schema.keys import derived_key, why_no_key
from headrace.schema.types import Record, Unknown


def require_on(
    name: str,
    on: str | Mapping[str, str],
    left: Record,
    right: Record,
    where: str,
) -> tuple[tuple[str, str], ...]:
    """Give the columns of the key by pairs, those of the left first.

    Raises:
        StepError: [join-needs-key] there are none; [column-unknown],
            [key-type-unsupported], [key-types-differ] they do not serve.
    """
    pairs = ((on, on),) if isinstance(on, str) else tuple(dict(on).items())
    if not pairs:
        raise StepError(
            "join-needs-key",
            f'join "{name}" has no key',
            detail="rows are joined by the columns that are the same in both.",
            hint='name one: on="user_id", or on={"user_id": "id"} where it has '
            "another name on the right.",
            where=where,
        )
    for one, other in pairs:
        for column, columns in ((one, left), (other, right)):
            if column not in columns:
                raise unknown_column(column, columns, f'join "{name}"', where)
            _require_key(column, columns, where)
        _require_same_type(name, (one, left), (other, right), where)
    return pairs


def require_timed(name: str, step: Step, where: str) -> None:
    """Refuse a side that has no event time, or whose rows come at no fixed time.

    Raises:
        StepError: [join-needs-time], [join-after-window], [late-rows-followed].
    """
    require_no_panes(name, step, where)
    require_not_late(f'join "{name}"', step, where)
    time = step.time
    if time is None or not step.columns[time].required:
        raise StepError(
            "join-needs-time",
            f'join "{name}" is fed by a stream without an event time',
            detail="which rows belong together is decided by their own time."
            if time is None
            else f'"{time}" may be null.',
            hint='declare the event with `@event(time="...")`, and keep that column '
            "under its name or a new one; a full join has no one time.",
            where=where,
        )


def require_no_panes(name: str, step: Step, where: str) -> None:
    """Refuse a side that is fed by a window.

    Raises:
        StepError: [join-after-window] it is.
    """
    earlier = next(windows(step), None)
    if earlier is not None:
        raise StepError(
            "join-after-window",
            f'join "{name}" is fed by window "{earlier.name}"',
            detail=f"it is declared at {earlier.where}; panes come when the watermark "
            "has passed their end, and corrections at any time after it.",
            hint="join before the window; or write the panes into a topic, and join "
            "them in a second pipeline.",
            where=where,
        )


def require_not_late(what: str, step: Step, where: str) -> None:
    """Refuse a step that keeps state by time behind the late rows of a join.

    Raises:
        StepError: [late-rows-followed] it is fed by such.
    """
    late = late_of_join(step)
    if late is not None:
        raise StepError(
            "late-rows-followed",
            f'{what} is fed by the late rows of join "{late.input.name}"',
            detail="they are behind the watermark when they come, so they would be "
            "late there as well.",
            hint="write them into a topic, and read it in a second pipeline.",
            where=where,
        )


def _require_key(column: str, columns: Record, where: str) -> None:
    kind = columns[column].type
    reason = why_no_key(kind)
    if reason is not None:
        raise StepError(
            "key-type-unsupported",
            f'column "{column}" of type {kind.sql} cannot be the key of a join',
            detail=reason,
            hint=f"add a key of another type: {derived_key(column, kind)}.",
            where=where,
        )


def _require_same_type(
    name: str, one: tuple[str, Record], other: tuple[str, Record], where: str
) -> None:
    kinds = [columns[column].type for column, columns in (one, other)]
    # A type that only Spark can tell is compared when the pipeline is planned.
    if any(isinstance(kind, Unknown) for kind in kinds):
        return
    if kinds[0].sql != kinds[1].sql:
        raise key_types_differ(
            name, (one[0], kinds[0].sql), (other[0], kinds[1].sql), where
        )


def key_types_differ(
    name: str, one: tuple[str, str], other: tuple[str, str], where: str
) -> StepError:
    """Name two columns of a key whose types differ, each with its type."""
    return StepError(
        "key-types-differ",
        f'join "{name}" compares a {one[1]} with a {other[1]}',
        detail=f'"{one[0]}" is {one[1]} on the left, "{other[0]}" is {other[1]} on '
        "the right; keys are compared by their bytes.",
        hint=f'cast one before the join: derive({one[0]}="cast({one[0]} as '
        f'{other[1]})").',
        where=where,
    )
