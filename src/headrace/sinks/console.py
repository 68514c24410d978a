"""Standard output as a sink: a look at what passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.errors import StepError
from headrace.schema.origin import declared_at
from headrace.sinks.promises import Servers


@dataclass(frozen=True)
class ConsoleSink:
    """The driver's standard output.

    What it promises is said in the words of `headrace.sinks.promises`.
    """

    rows: int
    where: str

    system: ClassVar[str] = "console"
    # What was printed cannot be looked up, so a repeated batch is printed again.
    guarantees: ClassVar[tuple[str, ...]] = ("at-least-once",)
    same_key: ClassVar[str] = "append"
    deletes: ClassVar[str] = "tombstone"
    atomic: ClassVar[bool] = False
    takes: ClassVar[str] = "rows"
    artifacts: ClassVar[tuple[str, ...]] = ()
    key: ClassVar[str | None] = None
    target: ClassVar[str] = "the console"

    def settings(self, _servers: Servers | None) -> dict[str, str]:
        """Say how many rows of a batch are shown."""
        return {"rows": str(self.rows)}


def console(*, rows: int = 20) -> ConsoleSink:
    """Print the first rows of each batch, as a table.

    Delivery is at-least-once: a batch that is repeated after a crash is printed again.

    Args:
        rows: How many rows of each batch are shown at the most.

    Raises:
        StepError: [count-below-one] nothing would be shown.

    Example:
        ``fraud.write("look", alerts, sinks.console(rows=5))``
    """
    where = declared_at()
    if rows < 1:
        raise StepError(
            "count-below-one",
            f"the console cannot show {rows} rows",
            hint="give rows a number, or leave it out.",
            where=where,
        )
    return ConsoleSink(rows, where)
