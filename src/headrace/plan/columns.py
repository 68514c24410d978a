"""Check the columns of a step while it is declared."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import StepError
from headrace.plan.steps import Step
from headrace.schema.expressions import unknown_column
from headrace.schema.keys import derived_key, why_no_key
from headrace.schema.types import Record, Unknown


def require_column_names(names: Sequence[str], where: str) -> None:
    """Refuse names that no column can have, and those that two would have.

    Raises:
        StepError: [nothing-selected], [column-name-reserved], [name-refused],
            [column-taken].
    """
    if not names:
        raise StepError(
            "nothing-selected",
            "a stream needs at least one column",
            hint="name the columns to keep.",
            where=where,
        )
    seen: dict[str, str] = {}
    for name in names:
        if name.startswith("_"):
            raise StepError(
                "column-name-reserved",
                f'"{name}" begins with an underscore',
                detail="columns with such names carry an event's origin through a "
                "stream.",
                hint=f'call it "{name.lstrip("_") or "value"}".',
                where=where,
            )
        if not name.isidentifier():
            raise StepError(
                "name-refused",
                f'"{name}" cannot be the name of a column',
                detail="letters, digits and underscores, a letter first.",
                where=where,
            )
        other = seen.get(name.lower())
        if other is not None:
            raise StepError(
                "column-taken",
                f'two columns would be called "{other}"',
                detail=None if other == name else f'Spark takes "{name}" for the same.',
                hint="rename or leave out the other one first.",
                where=where,
            )
        seen[name.lower()] = name


def require_keys(
    step: str, name: str, by: Sequence[str], columns: Record, where: str
) -> None:
    """Refuse columns that a step cannot put events or rows together by.

    Args:
        step: What the step is called in a sentence: ``window`` or ``group``.
        name: The step's name.
        by: The columns.
        columns: Those that there are.
        where: The place of the declaration.

    Raises:
        StepError: [column-unknown] there is none of that name;
            [key-type-unsupported] equal values of its type may differ in bytes.
    """
    for column in by:
        if column not in columns:
            raise unknown_column(column, columns, f'{step} "{name}"', where)
        kind = columns[column].type
        reason = why_no_key(kind)
        if reason is not None:
            raise StepError(
                "key-type-unsupported",
                f'column "{column}" of type {kind.sql} cannot be the key of a {step}',
                detail=reason,
                hint=f"add a key of another type: {derived_key(column, kind)}.",
                where=where,
            )


def require_same_columns(one: Step, other: Step, where: str) -> None:
    """Refuse to put streams together that have other columns.

    Raises:
        StepError: [union-columns-differ] a name or a type differs.
    """
    left = {field.name: field.type.sql for field in one.columns}
    right = {field.name: field.type.sql for field in other.columns}
    # A type that only Spark can tell is compared when the pipeline is planned.
    unknown = Unknown().sql
    differ = sorted(
        name
        for name in left.keys() | right.keys()
        if (found := {left.get(name), right.get(name)}) != {left.get(name)}
        and (unknown not in found or None in found)
    )
    if differ:
        name = differ[0]
        raise StepError(
            "union-columns-differ",
            "the streams of a union have different columns",
            detail=f'"{name}" is {left.get(name, "absent")} in one and '
            f"{right.get(name, 'absent')} in the other (declared at {other.where}).",
            hint="use select, derive or rename to make them the same.",
            where=where,
        )
