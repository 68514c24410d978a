"""Joins of two streams: their kinds, and how far apart two rows may be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

KINDS = ("inner", "left", "right", "full", "semi", "anti")
LATE = ("side-output", "drop")


@dataclass(frozen=True)
class Between:
    """How far the right row's time may lie beyond the left row's, both ends included.

    Args:
        least: The least; below zero where the right row may be the earlier one.
        most: The most.
    """

    least: timedelta
    most: timedelta

    def __str__(self) -> str:
        return f"between {shown(self.least)} and {shown(self.most)} after"

    @property
    def is_reversed(self) -> bool:
        """Whether no time lies in it."""
        return self.most < self.least


def between(least: timedelta, most: timedelta) -> Between:
    """Say how long after the left row the right one may be.

    Args:
        least: The least; below zero where the right row may be the earlier one.
        most: The most. Both ends are included.

    Example:
        >>> from headrace import minutes, seconds
        >>> str(between(seconds(0), minutes(10)))
        'between 0:00:00 and 0:10:00 after'
    """
    return Between(least, most)


def shown(length: timedelta) -> str:
    """Write a duration, also one below zero."""
    return f"-{-length}" if length < timedelta(0) else str(length)
