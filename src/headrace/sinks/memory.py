"""The driver's memory as a sink, for tests and notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.errors import StepError
from headrace.schema.origin import declared_at
from headrace.sinks.promises import Servers


@dataclass(frozen=True)
class MemorySink:
    """Rows in the memory of the driver; they end with it.

    What it promises is said in the words of `headrace.sinks.promises`.
    """

    key: str | None
    most: int
    where: str

    system: ClassVar[str] = "memory"
    guarantees: ClassVar[tuple[str, ...]] = ("exactly-once", "at-least-once")
    atomic: ClassVar[bool] = True
    takes: ClassVar[str] = "rows"
    artifacts: ClassVar[tuple[str, ...]] = ()
    target: ClassVar[str] = "memory"

    @property
    def same_key(self) -> str:
        """Rows are added, or replace the one of the key that was given."""
        return "append" if self.key is None else "replace"

    @property
    def deletes(self) -> str:
        """With a key, the row of a deleted key is removed."""
        return "refuse" if self.key is None else "remove"

    def settings(self, _servers: Servers | None) -> dict[str, str]:
        """Say how rows are kept, and how many at the most."""
        return {"keyed": str(self.key is not None).lower(), "most": str(self.most)}


def memory(*, key: str | None = None, most: int = 100_000) -> MemorySink:
    """Keep rows in the driver's memory; `headrace.sinks.read_memory` gives them.

    Each row is there once as long as the process lives, over restarts of the query
    too. Another process begins with nothing, and so does another checkpoint.

    Args:
        key: The column by which a row replaces an earlier one; by default all are
            kept.
        most: How many rows there may be; a batch that brings more is refused.

    Raises:
        StepError: [count-below-one] there is room for nothing.

    Example:
        ``fraud.write("alerts", alerts, sinks.memory())``
    """
    where = declared_at()
    if most < 1:
        raise StepError(
            "count-below-one",
            f"memory cannot hold {most} rows at the most",
            hint="give most a number of rows, or leave it out.",
            where=where,
        )
    return MemorySink(key, most, where)
