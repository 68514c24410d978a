"""Delta tables as a sink: rows are appended, or replace those of their keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from headrace.errors import StepError
from headrace.schema.origin import declared_at
from headrace.sinks.places import absolute
from headrace.sinks.promises import Servers

MODES = ("append", "merge")


@dataclass(frozen=True)
class DeltaSink:
    """A Delta table to write to, one commit for each batch that has rows.

    What it promises is said in the words of `headrace.sinks.promises`.
    """

    place: str
    mode: str
    key: str | None
    partition_by: tuple[str, ...]
    optimise_every: int | None
    where: str

    system: ClassVar[str] = "delta"
    guarantees: ClassVar[tuple[str, ...]] = ("exactly-once", "at-least-once")
    atomic: ClassVar[bool] = True
    takes: ClassVar[str] = "rows"
    artifacts: ClassVar[tuple[str, ...]] = ("spark-delta",)

    @property
    def same_key(self) -> str:
        """Rows are added, or in a merge replace the one of their key."""
        return "replace" if self.mode == "merge" else "append"

    @property
    def deletes(self) -> str:
        """A merge removes the row of a deleted key."""
        return "remove" if self.mode == "merge" else "refuse"

    @property
    def target(self) -> str:
        """The table."""
        return f"table {self.place}"

    def settings(self, _servers: Servers | None) -> dict[str, str]:
        """Say where the table is, and how it is written."""
        return {
            "place": absolute(self.place) if "/" in self.place else self.place,
            "mode": self.mode,
            "partition_by": json.dumps(self.partition_by),
            "optimise_every": str(self.optimise_every or 0),
        }


def delta(
    place: str,
    *,
    mode: str = "append",
    key: str | None = None,
    partition_by: Sequence[str] = (),
    optimise_every: int | None = None,
) -> DeltaSink:
    """Write to a Delta table.

    Each batch that has rows is one commit, and the batch's record is in it. A table
    that is not there is made, with the output's columns, all of which may be null. A
    table that is there must fit; columns that it lacks are added to it at the start.

    Args:
        place: The table's directory, local or of any file system Spark knows
            (``lake/payments``, ``s3a://lake/payments``), or, without a slash, the name
            by which a catalog knows it.
        mode: ``append``, or ``merge``: the last row of a key replaces the one that is
            there, and a deleted key's row is removed.
        key: The column that finds a row in a merge; by default the events' own key.
        partition_by: The columns by which the table's files lie in directories.
        optimise_every: After how many batches with rows small files are put together,
            as a part of that batch; never unless given.

    Raises:
        StepError: [mode-unknown] there is no such mode;
            [count-below-one] `optimise_every` is not a number of batches.

    Example:
        ``fraud.write("cards", cards, sinks.delta("lake/cards", mode="merge"))``
    """
    where = declared_at()
    if mode not in MODES:
        raise StepError(
            "mode-unknown",
            f'a Delta table cannot be written in mode "{mode}"',
            hint=f"choose from {', '.join(MODES)}.",
            where=where,
        )
    if optimise_every is not None and optimise_every < 1:
        raise StepError(
            "count-below-one",
            f"a table cannot be optimised every {optimise_every} batches",
            hint="leave optimise_every out, or give the number of batches.",
            where=where,
        )
    return DeltaSink(place, mode, key, tuple(partition_by), optimise_every, where)
