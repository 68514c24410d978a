"""What every kind of captured database can do for a capture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from headrace.cdc.notes import Notes
from headrace.cdc.place import Capture
from headrace.cdc.wishes import Login, Wish
from headrace.errors import CaptureError

Offset: TypeAlias = Callable[[], Mapping[str, Any] | None]
"""Asks Connect for the position that a connector has committed."""


@dataclass(frozen=True)
class Standing:
    """How a database and its capture stand to each other.

    Args:
        place: What keeps the capture's place, such as the slot, and its state.
        position: How far the capture has come, as the database writes positions.
        held_bytes: How much the database keeps for the capture.
        behind_bytes: How much of it the capture has not confirmed.
        behind_seconds: How old the last confirmed change is.
        reading: Whether the connector reads changes at this moment.
    """

    place: str
    position: str | None = None
    held_bytes: int | None = None
    behind_bytes: int | None = None
    behind_seconds: float | None = None
    reading: bool = False


class SourceSystem(Protocol):
    """A kind of database, such as PostgreSQL, with all that is special about it."""

    adds_beside: bool
    """Whether a connector can read further tables beside its work."""

    def require_new(self, capture: Capture, wish: Wish, login: Login, /) -> None:
        """Refuse a database or tables that cannot be captured, before any change."""

    def prepare(
        self, capture: Capture, wish: Wish, login: Login, tables: Sequence[str]
    ) -> dict[str, str]:
        """Make what the connector needs; give what it can be known again by."""

    def settings(
        self, capture: Capture, wish: Wish, notes: Notes, login: Login
    ) -> dict[str, str]:
        """Give the connector's settings."""

    def allow(self, capture: Capture, config: Mapping[str, str], notes: Notes) -> None:
        """Give the role anew what it needs."""

    def writers(self, capture: Capture) -> Callable[[], bool]:
        """Give a question: do transactions go on that had begun to write by now?"""

    def forget_place(self, capture: Capture, config: Mapping[str, str]) -> None:
        """Let the next snapshot begin with a place of its own."""

    def problems(
        self,
        capture: Capture,
        config: Mapping[str, str],
        notes: Notes,
        offset: Offset,
    ) -> list[CaptureError]:
        """Say what is wrong in the database."""

    def standing(
        self,
        capture: Capture,
        config: Mapping[str, str],
        offset: Mapping[str, Any] | None,
    ) -> Standing:
        """Say how far the capture is behind the database."""

    def origin(self, offset: Mapping[str, Any]) -> dict[str, Any]:
        """Give a committed position as the `source` of a change tells it."""

    def own_topics(self, capture: Capture) -> tuple[str, ...]:
        """Give the topics that only a capture of this kind has."""

    def remove(self, capture: Capture, config: Mapping[str, str]) -> list[str]:
        """Take away what was made, and say what."""

    def describe(self, capture: Capture, table: str) -> str:
        """Give an event's class for the rows of a table, as Python."""


def system_of(capture: Capture) -> SourceSystem:
    """Give the kind of database that a capture is of."""
    from headrace.cdc.my_system import MySystem  # noqa: PLC0415 - they import this
    from headrace.cdc.pg_system import PgSystem  # noqa: PLC0415

    return MySystem() if capture.system == "mysql" else PgSystem()
