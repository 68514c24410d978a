"""Wait for a condition with a deadline, never for a time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def wait_until(
    what: str,
    condition: Callable[[], T | None],
    *,
    seconds: float = 30,
    step: float = 0.02,
) -> T:
    """Give the condition's value as soon as it is true; fail after the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        time.sleep(step)
