"""Lookups: when an event is answered by a table, and by which of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headrace.durations import hours

_MEGABYTE = 2**20

RETENTION = hours(1)
"""How far behind the watermark an event may be and still find its row, by default."""

_MISSING = {
    "settled": ("null", "side-output"),
    "known": ("null", "null-then-correct", "wait", "side-output"),
    "latest": ("null", "side-output"),
    "broadcast": ("null", "side-output"),
}


@dataclass(frozen=True)
class Lookup:
    """How events are answered; made by `settled`, `known`, `latest` and `broadcast`.

    Args:
        when: Which of the four.
        missing: What becomes of an event for which there is no row.
        grace: How long beyond its time an event waits for its row.
        retention: How far behind the watermark an event may be.
        most_megabytes: How large a table may be that every task holds.
    """

    when: str
    missing: str
    grace: timedelta
    retention: timedelta
    most_megabytes: int = 0

    def __str__(self) -> str:
        told = {
            "settled": "as of the event's time, once that is settled",
            "known": "as of the event's time, as far as it is known",
            "latest": "the last row that is known",
            "broadcast": "the last row that is known, from a table that every task "
            "holds",
        }[self.when]
        waits = f" for {self.grace}" if self.waits else ""
        return f"{told}; without a row {self.missing}{waits}"

    @property
    def choices(self) -> tuple[str, ...]:
        """What can become of events without a row."""
        return _MISSING[self.when]

    @property
    def looks_at_time(self) -> bool:
        """Whether the event's own time decides about its answer."""
        return self.when in {"settled", "known"}

    @property
    def needs_time(self) -> bool:
        """Whether events without a time of their own cannot be answered."""
        return self.when in {"settled", "known", "latest"}

    @property
    def keeps_state(self) -> bool:
        """Whether the join itself keeps something between batches."""
        return self.needs_time

    @property
    def is_held(self) -> bool:
        """Whether every task holds the whole table."""
        return self.when == "broadcast"

    def kept(self, key: str) -> str:
        """Say what is kept for how long.

        Args:
            key: The columns of the table's key.
        """
        if self.is_held:
            return "none; every task holds the table's rows"
        if not self.looks_at_time:
            return f"the last row of each {key}"
        return (
            f"the rows of each {key}, older ones until the watermark is "
            f"{self.retention} beyond their end; events that wait"
        )

    @property
    def waits(self) -> bool:
        """Whether events are kept that have found no row."""
        return self.missing in {"wait", "null-then-correct"}

    @property
    def corrects(self) -> bool:
        """Whether a row that was told may be replaced later."""
        return self.missing == "null-then-correct"

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know."""
        bound = {"most_bytes": self.most_megabytes * _MEGABYTE} if self.is_held else {}
        return {"when": self.when, "missing": self.missing, **bound}


def settled(*, missing: str = "null", retention: timedelta = RETENTION) -> Lookup:
    """Answer an event when all changes of its time have come, by the row of its time.

    An event waits until the watermark has passed its time. So the answer does not
    depend on which came first, and a replay gives the same.

    Args:
        missing: What becomes of an event for which there is no row: ``null`` gives
            it nulls, ``side-output`` sends it to ``stream.missing``.
        retention: How far behind the watermark an event may be and still find the
            row of its time; older ones are late.

    Example:
        >>> str(settled())
        "as of the event's time, once that is settled; without a row null"
    """
    return Lookup("settled", missing, timedelta(0), retention)


def known(
    *,
    missing: str = "null",
    grace: timedelta = timedelta(0),
    retention: timedelta = RETENTION,
) -> Lookup:
    """Answer an event at once, by the row of its time as far as that is known.

    Args:
        missing: What becomes of an event for which no row is known: ``null``,
            ``side-output``, ``wait``, which tells it when its row comes, or
            ``null-then-correct``, which tells it at once and again when its row comes.
        grace: How long beyond its time it is waited for the row.
        retention: As for `settled`.

    Example:
        >>> known(missing="wait", grace=hours(1)).grace
        datetime.timedelta(seconds=3600)
    """
    return Lookup("known", missing, grace, retention)


def latest(*, missing: str = "null") -> Lookup:
    """Answer an event at once by the last row that is known, whatever its time.

    Args:
        missing: As for `settled`.

    Example:
        >>> str(latest())
        'the last row that is known; without a row null'
    """
    return Lookup("latest", missing, timedelta(0), timedelta(0))


def broadcast(*, missing: str = "null", most_megabytes: int = 64) -> Lookup:
    """Answer an event at once by the last row, out of a table that every task holds.

    The stream is not shuffled. For a small table that changes now and then: each batch
    that changes it sends all of it to every executor.

    Args:
        missing: As for `settled`.
        most_megabytes: How large the table may be: its keys and rows, as bytes. A
            query whose table is larger stops with [table-too-large].

    Example:
        >>> broadcast(most_megabytes=8).most_megabytes
        8
    """
    return Lookup("broadcast", missing, timedelta(0), timedelta(0), most_megabytes)
