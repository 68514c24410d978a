"""Views as they are declared: what of, by which key, and where they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from headrace.errors import StepError, ViewError
from headrace.plan.changes import DELETED, TableRows
from headrace.plan.steps import Select, Step, Where
from headrace.plan.window_steps import Panes, Window
from headrace.schema.expressions import column
from headrace.schema.formats import TO_JSON_OPTIONS
from headrace.schema.types import (
    Choice,
    Day,
    Field,
    Record,
    Text,
    Truth,
    Unknown,
    Uuid,
    Whole,
)
from headrace.windows.kinds import Assigned, Counted, Everything, Sliding

KEY = "view_key"
"""The column that holds the key where it is made of several, or of a time."""

STORES = ("embedded", "redis", "postgres")

_RETRACTION = "is_retraction"
# Whose text in a record's key is the one that everybody would write.
_PLAIN = (Text, Uuid, Choice, Whole, Truth, Day)


@dataclass(frozen=True)
class View:
    """A view as it was declared.

    Attributes:
        name: The view's name, once in a pipeline.
        pipeline: The pipeline's name.
        columns: The columns of its rows.
        key: The columns that tell rows apart, in order.
        key_column: The column that holds the key as one; of several columns it is a
            JSON text of them.
        store: Where it is kept: one of `STORES`.
        history: How far back it can be asked.
        target: What it is written to: a topic, a table, or the beginning of keys.
        where: The line that declares it.
    """

    name: str
    pipeline: str
    columns: Record
    key: tuple[str, ...]
    key_column: str
    store: str
    history: timedelta
    target: str
    where: str

    @property
    def output(self) -> str:
        """The name of the output that writes it."""
        return f"view-{self.name}"

    @property
    def key_fields(self) -> list[Field]:
        """The columns of the key with their types."""
        return [self.columns[name] for name in self.key]

    @property
    def is_plain(self) -> bool:
        """Whether the key is the text of one column; otherwise it is JSON."""
        return self.key == (self.key_column,)


def view_topic(pipeline: str, name: str) -> str:
    """Give the topic that a view is written to.

    Example:
        >>> view_topic("fraud", "velocity")
        'fraud.view.velocity'
    """
    return f"{pipeline}.view.{name}"


def require_view(
    name: str, store: str, history: timedelta, views: Sequence[View], where: str
) -> None:
    """Refuse a view whose name is taken, or that nothing could keep.

    Raises:
        ViewError: [view-name-taken], [view-store-unknown].
        StepError: [duration-negative] its history is below zero.
    """
    for other in views:
        if other.name == name:
            raise ViewError(
                "view-name-taken",
                f'pipeline "{other.pipeline}" has a view "{name}" already',
                detail=f"it is declared at {other.where}.",
                hint="give each view a name of its own.",
                where=where,
            )
    if store not in STORES:
        raise ViewError(
            "view-store-unknown",
            f'a view cannot be kept in "{store}"',
            hint=f"choose from {', '.join(STORES)}.",
            where=where,
        )
    if history < timedelta(0):
        raise StepError(
            "duration-negative",
            f"history is {history.total_seconds():g} seconds",
            hint="give zero or more: hours(1).",
            where=where,
        )


def pane_key(step: Step, where: str) -> tuple[str, ...]:
    """Give the columns that tell the windows of a stream of panes apart.

    Raises:
        ViewError: [view-unsupported] the stream is not one of whole panes;
            [view-key-lost] a column that is needed was left out.
    """
    passed: list[Select] = []
    while isinstance(step, Select) and not isinstance(step, TableRows):
        passed.append(step)
        step = step.input
    if not isinstance(step, Panes):
        raise _unsupported(step, where)
    window = step.input
    if window.firing.panes == "discarding":
        raise ViewError(
            "view-unsupported",
            f'window "{window.name}" tells of each event in one pane only',
            detail="a view holds the newest pane of each window, and here that is a "
            "part of it.",
            hint='leave out panes="discarding".',
            where=where,
        )
    wanted = (*_window_key(window), _RETRACTION)
    names = {name: name for name in wanted}
    for select in reversed(passed):
        names = {name: _passed(select, now, where) for name, now in names.items()}
    if names[_RETRACTION] != _RETRACTION:
        raise _lost(_RETRACTION, where)
    return tuple(names[name] for name in wanted[:-1])


def key_expression(columns: Record, key: Sequence[str], where: str) -> str | None:
    """Give the SQL of a key of several columns; None where one column is enough.

    Raises:
        StepError: [key-type-unsupported] only Spark can tell a column's type.
        StepError: [column-taken] there is a column of the key's name already.
    """
    for name in key:
        if isinstance(columns[name].type, Unknown):
            raise StepError(
                "key-type-unsupported",
                f'only Spark can tell the type of "{name}", and a view is keyed by it',
                detail="who asks for a row by its key has to know how it is written.",
                hint=f'say it: derive({name}="cast({name} as string)").',
                where=where,
            )
    only = columns[key[0]] if len(key) == 1 else None
    if only is not None and only.required and isinstance(only.type, _PLAIN):
        return None
    if KEY in columns:
        raise StepError(
            "column-taken",
            f'the key of the view needs a column "{KEY}", and there is one',
            hint="rename it.",
            where=where,
        )
    parts = ", ".join(f"'{name}', `{name}`" for name in key)
    options = ", ".join(
        f"'{name}', '{_quoted(value)}'" for name, value in TO_JSON_OPTIONS.items()
    )
    return f"cast(to_json(named_struct({parts}), map({options})) as string)"


def pane_rows(step: Step, key: str, where: str) -> TableRows:
    """Give the step whose rows are those of a view of panes; one taken back is gone."""
    fields = tuple(field for field in step.columns if field.name != _RETRACTION)
    expressions = {field.name: column(field.name, field.type) for field in fields}
    gone = {DELETED: column(_RETRACTION, Truth())}
    return TableRows(Record(fields), key, None, where, step, expressions | gone)


def _window_key(window: Window) -> tuple[str, ...]:
    match window.kind:
        case Everything() if window.by:
            return window.by
        case Everything() | Counted() | Sliding():
            # Neither has bounds that tell its windows apart.
            return ("window_id",)
        case Assigned():
            return (*window.by, "window_start", "window_end")
    return (*window.by, "window_start")


def _passed(select: Select, name: str, where: str) -> str:
    """Give the name under which a step passes a column on."""
    found = [
        new for new, told in select.expressions.items() if told.text == f"`{name}`"
    ]
    if not found:
        raise _lost(name, where)
    return name if name in found else found[0]


def _lost(name: str, where: str) -> ViewError:
    return ViewError(
        "view-key-lost",
        f'column "{name}" was left out, and the view needs it',
        detail="by it the panes of a window are known, or that one is taken back.",
        hint=f'keep "{name}" as it is.',
        where=where,
    )


def _unsupported(step: Step, where: str) -> ViewError:
    if isinstance(step, Where):
        fact = "behind a window, a condition keeps old panes in a view"
        detail = (
            "a pane that the condition no longer keeps is not told, so the one before "
            "it would stay."
        )
        hint = "give the condition to the window: having=..."
    else:
        fact = f"a stream made by {step.verb} has no newest state"
        detail = "a view holds the rows of a table, or the newest pane of each window."
        hint = (
            "make it a window, or a table: write it to a topic, and read that with "
            "pipeline.table(kafka(...))."
        )
    return ViewError("view-unsupported", fact, detail=detail, hint=hint, where=where)


def _quoted(text: str) -> str:
    return text.replace("'", "\\'")
