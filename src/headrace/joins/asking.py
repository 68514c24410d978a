"""How a remote table is asked: what is kept of its answers, and what they promise."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headrace.durations import minutes, seconds
from headrace.joins.lookup import Lookup

FRESH = minutes(1)
"""For how long answers are kept by default."""

TIMEOUT = seconds(5)
"""How long one question may take by default."""

_CHOICES = ("null", "side-output")
# What is asked again by the same task until then; a server that restarts takes less.
_PATIENCE = seconds(30)


@dataclass(frozen=True)
class Asking(Lookup):
    """How a remote table is asked; made by `asking`.

    Args:
        cached: How many answers each process keeps at the most.
        fresh: For how long it keeps them.
        timeout: How long one question may take.
        repeatable: Whether a batch that is repeated has to get the same answers.
    """

    cached: int = 0
    fresh: timedelta = timedelta(0)
    timeout: timedelta = timedelta(0)
    repeatable: bool = True

    def __str__(self) -> str:
        return (
            f"as the database answers, kept for {self.fresh}; without a row "
            f"{self.missing}"
        )

    def kept(self, key: str) -> str:
        """Say what is kept for how long."""
        return (
            f"none; each process keeps up to {self.cached} answers by {key} for "
            f"{self.fresh}"
        )

    @property
    def choices(self) -> tuple[str, ...]:
        """What can become of events without a row."""
        return _CHOICES

    @property
    def terms(self) -> dict[str, Any]:
        """What the executors have to know."""
        millisecond = timedelta(milliseconds=1)
        return {
            "missing": self.missing,
            "cached": self.cached,
            "fresh_ms": self.fresh // millisecond,
            "timeout_ms": self.timeout // millisecond,
            "patience_ms": _PATIENCE // millisecond,
        }


def asking(
    *,
    missing: str = "null",
    cached: int = 100_000,
    fresh: timedelta = FRESH,
    timeout: timedelta = TIMEOUT,
    repeatable: bool = True,
) -> Asking:
    """Answer an event at once, by what a remote table holds at that moment.

    Args:
        missing: What becomes of an event for which there is no row: ``null`` gives
            it nulls, ``side-output`` sends it to ``stream.missing``.
        cached: How many answers each process keeps at the most; an answer may be that
            there is no row.
        fresh: For how long it keeps them: an answer may be so old.
        timeout: How long one question may take. A server that is away is asked again
            for half a minute, then the batch fails.
        repeatable: Whether a batch that is repeated after a crash has to get the same
            answers. A database cannot promise that, so a pipeline that writes exactly
            once takes the join only with ``repeatable=False``.

    Example:
        >>> str(asking(fresh=seconds(10)))
        'as the database answers, kept for 0:00:10; without a row null'
    """
    zero = timedelta(0)
    return Asking(
        "asked",
        missing,
        zero,
        zero,
        cached=cached,
        fresh=fresh,
        timeout=timeout,
        repeatable=repeatable,
    )
