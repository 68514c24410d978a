"""What every sink says of itself, in words that are the same for all."""

from __future__ import annotations

from typing import ClassVar, Protocol

GUARANTEES = ("exactly-once", "at-least-once")
SAME_KEY = ("append", "replace")
DELETES = ("tombstone", "remove", "refuse")


class Sink(Protocol):
    """A sink as it is declared; it opens nothing.

    Attributes:
        guarantees: The deliveries that it can give, the strongest first.
        same_key: What a row does to an earlier one of its key: it is put behind it
            (``append``) or in its place (``replace``).
        deletes: What becomes of a key that is deleted: a record without a value
            says so (``tombstone``), its row goes (``remove``), or the sink cannot
            take it (``refuse``).
        atomic: Whether readers see a batch as a whole or not at all; with several
            lanes it is each lane's part.
    """

    guarantees: ClassVar[tuple[str, ...]]
    same_key: ClassVar[str]
    deletes: ClassVar[str]
    atomic: ClassVar[bool]

    @property
    def key(self) -> str | None:
        """The column that keys the rows; None for the events' own key."""
