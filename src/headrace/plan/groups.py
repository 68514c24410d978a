"""Check the groups of a table while they are declared."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from headrace.errors import StepError
from headrace.plan.columns import require_column_names, require_keys
from headrace.plan.group_totals import Grouped, Total, read_grouped
from headrace.plan.lookups import Kept
from headrace.plan.steps import Stateful
from headrace.schema.expressions import Expression
from headrace.schema.names import require_name
from headrace.schema.types import Field, Record

_OF_VALUES = ("min", "max", "distinct")
_PAGE_BYTES = 4096


@dataclass(frozen=True, eq=False)
class GroupTable(Stateful):
    """Put the rows of a table together, and give what each batch has changed.

    `input` gives the changes of the table; `page_bytes` is how large the pages are
    that different values are kept in.
    """

    by: tuple[str, ...]
    told: tuple[Grouped, ...]
    totals: tuple[Total, ...]
    page_bytes: int = _PAGE_BYTES

    verb: ClassVar[str] = "group"

    @property
    def summary(self) -> str:
        """Name the key and what is told."""
        results = ", ".join(f"{one.name} = {one.text}" for one in self.told)
        return f'"{self.name}", by {", ".join(self.by)}: {results}'

    @property
    def state(self) -> str:
        """Say what is kept for how long."""
        of = f"of each {', '.join(self.by)}, as long as it has rows"
        apart = [t.of.text for t in self.totals if t.of and t.function in _OF_VALUES]
        if not apart:
            return f"the totals {of}"
        different = ", ".join(dict.fromkeys(apart))
        return f"the totals and the different values ({different}) {of}"

    @property
    def values(self) -> list[Expression]:
        """What the totals are of, each once."""
        return list(dict.fromkeys(total.of for total in self.totals if total.of))

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know."""
        values = self.values
        totals = [
            {
                "function": total.function,
                "value": values.index(total.of) if total.of else -1,
            }
            for total in self.totals
        ]
        declared = [self.by, totals, [value.text for value in values]]
        return {
            "name": self.name,
            "totals": totals,
            "declared": zlib.crc32(json.dumps(declared).encode()),
            "page_bytes": self.page_bytes,
        }


@dataclass(frozen=True)
class AskedGroup:
    """What a user asks of the groups of a table."""

    name: str
    by: str | Sequence[str]
    aggregates: Mapping[str, str]


def group_table(table: Kept, asked: AskedGroup, where: str) -> GroupTable:
    """Give the step that tells what changes in the groups of a table.

    Raises:
        StepError: What was asked for cannot be; `Table.group` has the list.
    """
    require_name(asked.name, "a step", where)
    by = (asked.by,) if isinstance(asked.by, str) else tuple(asked.by)
    _require_keys(asked.name, by, table.row, where)
    told, totals = read_grouped(asked.aggregates, table.row, where)
    fields = (*(table.row[name] for name in by), *(one.field for one in told))
    require_column_names([field.name for field in fields], where)
    row = Record(fields)
    before = table.step.columns
    columns = Record(
        (
            Field("before", row, required=False),
            Field("after", row, required=False),
            replace(before["position"], required=False),
            before["changed_at"],
        )
    )
    return GroupTable(
        *(columns, None, "changed_at", where, table.step, asked.name),
        *(by, told, totals),
    )


def _require_keys(name: str, by: Sequence[str], row: Record, where: str) -> None:
    if not by:
        raise StepError(
            "table-needs-key",
            f'group "{name}" has no key',
            detail="a table of groups holds one row for each of them.",
            hint='name the columns: by="city"; for all rows in one group, '
            'derive(all="\'all\'") and by="all".',
            where=where,
        )
    require_keys("group", name, by, row, where)
