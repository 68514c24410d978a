"""Where the user's own code declared something, for errors that point at it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

_PACKAGE = Path(__file__).parent.parent


def declared_at() -> str:
    """Give the file and line of the nearest caller outside this package.

    Example:
        ``fraud.py:31``
    """
    frame = _caller()
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def names_in_sight() -> dict[str, Any]:
    """Give the names that the nearest caller outside this package can see."""
    frame = _caller()
    return frame.f_globals | frame.f_locals


def _caller() -> FrameType:
    frame = sys._getframe(2)
    while frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
    return frame


def _is_ours(frame: FrameType) -> bool:
    # The constructor of a dataclass stands in no file, but in its class's module.
    module: str = frame.f_globals.get("__name__", "")
    file = Path(frame.f_code.co_filename)
    return file.is_relative_to(_PACKAGE) or module.startswith("headrace.")
