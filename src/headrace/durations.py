"""Durations as a pipeline reads them: ``minutes(5)`` is a ``timedelta``."""

from __future__ import annotations

from datetime import timedelta


def milliseconds(count: float) -> timedelta:
    """Give so many milliseconds."""
    return timedelta(milliseconds=count)


def seconds(count: float) -> timedelta:
    """Give so many seconds."""
    return timedelta(seconds=count)


def minutes(count: float) -> timedelta:
    """Give so many minutes.

    Example:
        >>> minutes(5)
        datetime.timedelta(seconds=300)
    """
    return timedelta(minutes=count)


def hours(count: float) -> timedelta:
    """Give so many hours."""
    return timedelta(hours=count)


def days(count: float) -> timedelta:
    """Give so many days."""
    return timedelta(days=count)
