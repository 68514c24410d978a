"""What every sink says of itself, in words that are the same for all."""

from __future__ import annotations

from typing import ClassVar, Protocol

GUARANTEES = ("exactly-once", "at-least-once")
SAME_KEY = ("append", "replace")
DELETES = ("tombstone", "remove", "refuse")
TAKES = ("records", "documents", "rows")


class Servers(Protocol):
    """Where the servers are that sinks write to; each is asked for when it is needed.

    Addresses hold no secrets: they point at a file that does.
    """

    def database(self, name: str) -> str:
        """Give a database by the name that pipelines use for it."""

    def redis(self) -> str:
        """Give the Redis."""

    def opensearch(self) -> str:
        """Give the OpenSearch."""


class Sink(Protocol):
    """A sink as it is declared; it opens nothing.

    Attributes:
        system: What it writes to, such as ``kafka``; the JVM's classes know it by
            this name.
        guarantees: The deliveries that it can give, the strongest first.
        same_key: What a row does to an earlier one of its key: it is put behind it
            (``append``) or in its place (``replace``).
        deletes: What becomes of a key that is deleted: a record without a value
            says so (``tombstone``), its row goes (``remove``), or the sink cannot
            take it (``refuse``).
        atomic: Whether readers see a batch as a whole or not at all; with several
            lanes it is each lane's part.
        takes: What it is given of each row: a record of Kafka in the sink's format
            (``records``), strict JSON (``documents``), or the row as Spark has it,
            packed (``rows``).
        artifacts: The groups of the artifact lock that Spark needs to write it.
    """

    system: ClassVar[str]
    takes: ClassVar[str]
    artifacts: ClassVar[tuple[str, ...]]

    # A sink may have several ways to write, and each its own promise.
    @property
    def guarantees(self) -> tuple[str, ...]:
        """The deliveries that it can give, the strongest first."""

    @property
    def same_key(self) -> str:
        """What a row does to an earlier one of its key."""

    @property
    def deletes(self) -> str:
        """What becomes of a key that is deleted."""

    @property
    def atomic(self) -> bool:
        """Whether readers see a batch as a whole or not at all."""

    @property
    def key(self) -> str | None:
        """The column that keys the rows; None for the events' own key."""

    @property
    def target(self) -> str:
        """What is written to, in words; two sinks of one target write the same."""

    @property
    def where(self) -> str:
        """The line that declares it."""

    def settings(self, servers: Servers | None) -> dict[str, str]:
        """Give what the JVM's classes are told; no secret is among it.

        Args:
            servers: Where the servers are; None where none is needed.
        """
