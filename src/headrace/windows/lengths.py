"""Check the durations and counts that windows are made of."""

from __future__ import annotations

from datetime import timedelta

from headrace.errors import StepError

# Times and durations are added up in 64 bits of microseconds.
_LONGEST = timedelta(days=3_650_000)


def require_duration(length: timedelta, what: str, where: str) -> timedelta:
    """Refuse a duration that is none, not above zero, or without end.

    Args:
        length: What was given.
        what: What it is the duration of: "a window".
        where: The place of the declaration.

    Raises:
        StepError: [duration-unreadable] it is no timedelta;
            [duration-not-positive] it is zero or less;
            [duration-too-long] it is beyond ten thousand years.
    """
    require_timedelta(length, what, where)
    if length <= timedelta(0):
        raise StepError(
            "duration-not-positive",
            f"{what} of {length.total_seconds():g} seconds does not exist",
            hint="give a time above zero: minutes(5).",
            where=where,
        )
    return length


def require_timedelta(length: timedelta, what: str, where: str) -> timedelta:
    """Refuse what is no duration, or one that no time can be added to.

    Raises:
        StepError: [duration-unreadable], [duration-too-long].
    """
    if not isinstance(length, timedelta):
        raise StepError(
            "duration-unreadable",
            f"{what} of {length!r} is not a duration, but {type(length).__name__}",
            hint=f"say of what: minutes({length}), seconds({length}).",
            where=where,
        )
    if abs(length) > _LONGEST:
        raise StepError(
            "duration-too-long",
            f"{what} of {length.days} days is longer than time can be told",
            detail="times are microseconds in 64 bits; 3650000 days are the most.",
            hint="for one window over all events, use everything().",
            where=where,
        )
    return length


def require_count(count: int, what: str, where: str) -> int:
    """Refuse a number of events below one.

    Raises:
        StepError: [count-below-one] it is zero, negative or no whole number.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise StepError(
            "count-below-one",
            f"{what} of {count!r} events does not exist",
            hint="give a whole number, one or more.",
            where=where,
        )
    return count


def microseconds(length: timedelta) -> int:
    """Give a duration as the operators count it.

    Example:
        >>> microseconds(timedelta(milliseconds=2))
        2000
    """
    return length // timedelta(microseconds=1)
