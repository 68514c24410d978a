"""What a view answers, and as of when it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True)
class Standing:
    """What a read reflects: every row of this batch and of those before it, no other.

    Args:
        lineage: The checkpoint that the batch is of; numbers begin anew with each.
        batch: The batch, as Spark counts them.
        revision: How many times the store has changed; it grows with each batch. 0
            in a store that does not count.
        at: When the batch was written; None where nobody knows.
        is_exact: Whether rows of a later batch are certainly not among those read.
    """

    lineage: str
    batch: int
    revision: int
    at: datetime | None
    is_exact: bool = True

    @classmethod
    def read(cls, told: dict[str, Any]) -> Standing:
        """Give a standing from its JSON."""
        at = None if told["at"] is None else datetime.fromisoformat(told["at"])
        place = told["lineage"], told["batch"], told["revision"]
        return cls(*place, at, told["is_exact"])

    def plain(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        return {
            "lineage": self.lineage,
            "batch": self.batch,
            "revision": self.revision,
            "at": None if self.at is None else moment_text(self.at),
            "is_exact": self.is_exact,
        }


@dataclass(frozen=True)
class AsOf:
    """As of when a view is asked; of neither is now.

    Args:
        batch: As of the end of this batch.
        time: As of this time: the last batch that was written by then.
    """

    batch: int | None = None
    time: datetime | None = None

    @property
    def is_now(self) -> bool:
        """Whether the newest state is meant."""
        return self.batch is None and self.time is None


NOW = AsOf()


@dataclass(frozen=True)
class Answer:
    """The row of a key, or that there is none, and what that reflects."""

    key: str
    row: dict[str, Any] | None
    standing: Standing


@dataclass(frozen=True)
class Page:
    """Rows in the order of their keys; `cursor` leads on, as of the same batch."""

    rows: list[tuple[str, dict[str, Any]]]
    standing: Standing
    cursor: str | None = None


@dataclass(frozen=True)
class Update:
    """What has become of a key.

    Args:
        op: ``upsert`` or ``delete``; ``row`` for one that was there when a watch
            began, and ``ready`` when all of those were told.
        key: The key; empty for ``ready``.
        row: The row; None where it is gone.
        standing: The batch that it came with.
        id: The place from which a watch goes on; empty for what cannot be gone on
            from.
    """

    op: str
    key: str
    row: dict[str, Any] | None
    standing: Standing
    id: str


def moment_text(at: datetime) -> str:
    """Write a time as the rows of views have it.

    Example:
        >>> moment_text(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
        '2026-01-02T03:04:05.000000Z'
    """
    moment = at if at.tzinfo else at.replace(tzinfo=UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
