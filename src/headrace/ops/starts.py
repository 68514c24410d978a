"""How often a pipeline was started on this machine."""

from __future__ import annotations

import json
from pathlib import Path


def count_start(path: Path) -> int:
    """Note a start, and give how many there were before.

    A note that cannot be read counts as none: it is only a number for people.
    """
    try:
        before = int(json.loads(path.read_text())["starts"])
    except (OSError, ValueError, KeyError, TypeError):
        before = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_suffix(".new")
    written.write_text(json.dumps({"starts": before + 1}))
    written.replace(path)
    return before
