"""Check a window while it is declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.errors import DeliveryError, StepError
from headrace.plan.columns import require_column_names, require_keys
from headrace.plan.join_keys import require_not_late
from headrace.plan.join_steps import Joined, LateRows, behind
from headrace.plan.joins import late_rows
from headrace.plan.lookups import require_uncorrected
from headrace.plan.steps import Output, Step
from headrace.plan.window_firing import require_firing
from headrace.plan.window_steps import (
    LATE_BY,
    Having,
    LateEvents,
    Panes,
    Window,
    replacing,
    windows,
)
from headrace.schema.expressions import read_expression
from headrace.schema.names import require_name
from headrace.schema.types import Field, Moment, Record, Text, Truth, Unknown, Whole
from headrace.windows.aggregates import Aggregate, read_aggregates, read_having
from headrace.windows.firing import Firing
from headrace.windows.kinds import Assigned, Counted, Kind, Staggered, tumbling

_BOUNDS = ("window_start", "window_end")
_TOLD = (
    Field("pane", Text()),
    Field("pane_number", Whole()),
    Field("is_final", Truth()),
    Field("is_retraction", Truth()),
    Field("window_id", Text()),
)


@dataclass(frozen=True)
class Asked:
    """What a user asks of a window."""

    name: str
    kind: Kind
    by: str | Sequence[str] | None
    having: str | None
    firing: Firing
    hot_keys: str | None
    aggregates: Mapping[str, str]


def window_step(before: Step, asked: Asked, where: str) -> Panes:
    """Give the step that tells the panes of a window.

    Raises:
        StepError: What was asked for cannot be; `Stream.window` has the list.
    """
    require_name(asked.name, "a step", where)
    by = (asked.by,) if isinstance(asked.by, str) else tuple(asked.by or ())
    if isinstance(asked.kind, Staggered) and not by:
        asked = replace(asked, kind=tumbling(asked.kind.size))
    _require_kind(asked, before, where)
    _require_first(asked, before, where)
    require_not_late(f'window "{asked.name}"', before, where)
    require_uncorrected(f'window "{asked.name}"', before, where)
    require_firing(asked.name, asked.kind, asked.firing, asked.hot_keys, where)
    _require_gathered(asked, before, where)
    require_keys("window", asked.name, by, before.columns, where)
    aggregates = read_aggregates(asked.aggregates, before.columns, before.time, where)
    columns = _columns(asked.kind, by, aggregates, before)
    require_column_names([field.name for field in columns], where)
    _require_room_for_late(asked, before.columns, where)
    having = asked.having
    window = Window(
        Record(columns),
        by[0] if len(by) == 1 else None,
        "window_end" if _has_end(asked.kind, before) else None,
        where,
        before,
        asked.name,
        asked.kind,
        by,
        aggregates,
        None
        if having is None
        else Having(having, read_having(having, aggregates, where)),
        asked.firing,
        asked.hot_keys,
    )
    return Panes(window.columns, window.key, window.time, where, window)


def late_step(step: Step, where: str) -> LateEvents | LateRows:
    """Give the step that tells the late events of a window or a join.

    Raises:
        StepError: [late-events-absent] there are none.
    """
    if isinstance(step, Joined):
        return late_rows(step.input, is_left=True, where=where)
    if not isinstance(step, Panes):
        earlier = next(windows(step), None)
        if earlier is None:
            fact = f"a stream made by {step.verb} has no late events"
            hint = (
                "late events are those of a window or a join: take `.late` from the "
                "stream that it gave."
            )
        else:
            fact = f'behind window "{earlier.name}" a {step.verb} keeps no late events'
            hint = "take `.late` from the stream that window(...) gave."
        raise StepError("late-events-absent", fact, hint=hint, where=where)
    window = step.input
    if not window.has_late_events:
        counted = isinstance(window.kind, Counted)
        why = "counts events and looks at no time" if counted else 'has late="drop"'
        raise StepError(
            "late-events-absent",
            f'window "{window.name}" {why}, so it has no late events',
            detail=f"it is declared at {window.where}.",
            hint=None if counted else 'leave out late="drop", or use refire(...).',
            where=where,
        )
    before = window.input
    added = Field(LATE_BY, Whole(), required=False)
    columns = Record((*before.columns, added))
    return LateEvents(columns, before.key, before.time, where, window)


def require_replaceable(output: Output) -> None:
    """Refuse an output that gives panes no key to replace each other by.

    Raises:
        DeliveryError: [sink-not-keyed] a correction would stand beside what it
            corrects.
    """
    window = replacing(output.step)
    if window is None or output.keys:
        return
    raise DeliveryError(
        "sink-not-keyed",
        f'output "{output.name}" cannot take the corrections of window "{window.name}"',
        detail=f"its panes replace earlier ones of their window, and what is written "
        f"to {output.sink.target} has no key to replace by.",
        hint=f'key it: sinks.{output.sink.system}(..., key="window_id"); or let the '
        'window fire once, or set panes="discarding".',
        where=output.where,
    )


def _require_kind(asked: Asked, before: Step, where: str) -> None:
    """Refuse a kind that is none, or that needs a time or columns that are absent."""
    kind = asked.kind
    if not isinstance(kind, Kind):
        raise StepError(
            "window-kind-unknown",
            f'window "{asked.name}" is {kind!r}, which is no kind of window',
            hint="choose one: tumbling(minutes(5)), hopping, sliding, sessions, "
            "counted, assigned, everything.",
            where=where,
        )
    time = before.time
    optional = time is not None and not before.columns[time].required
    if not isinstance(kind, Counted) and (time is None or optional):
        raise StepError(
            "window-needs-time",
            f'window "{asked.name}" is fed by a stream without an event time',
            detail=f'"{time}" may be null.'
            if optional
            else "which window an event is in, is decided by the event's own time.",
            hint='declare the event with `@event(time="...")`, and keep that column '
            "under its name or a new one; counted(n) needs no time.",
            where=where,
        )
    if isinstance(kind, Assigned):
        for bound, text in (("start", kind.start), ("end", kind.end)):
            found = read_expression(text, before.columns, where).type
            if not isinstance(found, Moment | Unknown):
                raise StepError(
                    "types-differ",
                    f"the {bound} of a window is a timestamp, and `{text}` is "
                    f"{found.sql}",
                    hint="cast it: `cast(x as timestamp)`, `timestamp_millis(x)`.",
                    where=where,
                )


def _require_first(asked: Asked, before: Step, where: str) -> None:
    earlier = next(windows(before), None)
    if earlier is not None:
        raise StepError(
            "window-after-window",
            f'window "{asked.name}" is fed by window "{earlier.name}"',
            detail=f"it is declared at {earlier.where}; both would follow one "
            "watermark, and the second would be closed before the first has told "
            "what belongs into it.",
            hint="write the panes into a topic, and read it in a second pipeline.",
            where=where,
        )


def _require_gathered(asked: Asked, before: Step, where: str) -> None:
    if asked.hot_keys is not None and behind(before) is not None:
        raise StepError(
            "hot-keys-unsupported",
            f'window "{asked.name}" cannot spread its keys',
            detail="it is fed by a join, whose rows come later than their time says, "
            "or by a source whose watermark peeks at what a batch will read.",
            hint='leave out hot_keys="spread", or peek=True.',
            where=where,
        )


def _has_end(kind: Kind, before: Step) -> bool:
    return kind.has_end and before.time is not None


def _columns(
    kind: Kind, by: Sequence[str], aggregates: Sequence[Aggregate], before: Step
) -> tuple[Field, ...]:
    bound = Field("", Moment(), required=_has_end(kind, before))
    return (
        *(before.columns[name] for name in by),
        *(replace(bound, name=name) for name in _BOUNDS),
        *(aggregate.field for aggregate in aggregates),
        *_TOLD,
    )


def _require_room_for_late(asked: Asked, columns: Record, where: str) -> None:
    taken = [name for name in columns.names if name.lower() == LATE_BY]
    if taken and asked.firing.keeps_late:
        raise StepError(
            "column-taken",
            f'late events have a column "{LATE_BY}", and the stream has one too',
            hint='rename it before the window, or set late="drop".',
            where=where,
        )
