"""What is told of a group, and the totals that it is told from.

``sum(price * number) / count(*)`` is put together in three steps: a value of each row,
``price * number``; totals of a group, a sum and a number of rows; and an expression of
the totals. The first and the last are Spark's, the totals are the operator's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.errors import StepError
from headrace.plan.table import require_steady
from headrace.schema.expressions import Expression
from headrace.schema.types import Field, Record, Unknown


@dataclass(frozen=True)
class Total:
    """Something that is kept of a group.

    Attributes:
        function: What it is: ``rows``, ``count``, ``sum``, ``avg``, ``min``, ``max`` or
            ``distinct``.
        of: The value of a row that it is of, where null does not count; None for rows.
    """

    function: str
    of: Expression | None


@dataclass(frozen=True)
class Grouped:
    """A column that is told of a group.

    Attributes:
        name: The column.
        text: The aggregate as it was written.
        result: The expression that gives it; its columns ``_0``, ``_1`` are totals.
        required: Whether it is never null.
    """

    name: str
    text: str
    result: Expression
    required: bool

    @property
    def field(self) -> Field:
        """The column that it makes."""
        return Field(self.name, self.result.type, self.required)


def read_grouped(
    texts: Mapping[str, str], row: Record, where: str
) -> tuple[tuple[Grouped, ...], tuple[Total, ...]]:
    """Check what shall be told of a group; give it, and the totals that it needs.

    Raises:
        StepError: [aggregates-missing] there is nothing;
            [not-an-aggregate] something is a value of a single row;
            [aggregate-not-reversible] no row can be taken back from it;
            [aggregate-unsupported], [expression-not-steady], [expression-unreadable],
            [column-unknown], [types-differ] it cannot be computed.
    """
    if not texts:
        raise StepError(
            "aggregates-missing",
            "a group without aggregates tells nothing",
            hint='name at least one column: users="count(*)".',
            where=where,
        )
    # The parser takes longer to load than all the rest of headrace.
    from headrace.plan.group_calls import Totals, told_from  # noqa: PLC0415

    totals = Totals()
    told = []
    for name, text in texts.items():
        if not isinstance(text, str):
            raise StepError(
                "expression-unreadable",
                f"{name}={text!r} is not a text, but {type(text).__name__}",
                hint=f'aggregates are texts of Spark\'s SQL: {name}="count(*)".',
                where=where,
            )
        require_steady(Expression(text, Unknown()), where)
        told.append(Grouped(name, text, *told_from(text, row, totals, where)))
    return tuple(told), tuple(totals.found)


def unordered(what: str, kind: str, where: str) -> StepError:
    """Name values that cannot be kept one by one."""
    return StepError(
        "types-differ",
        f"{what} is of values of type {kind}",
        detail="a group keeps each different value by itself, in order.",
        hint="give it a number, a text or a time: `to_json(x)`.",
        where=where,
    )
