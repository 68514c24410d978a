"""How often a pipeline was started on its checkpoint."""

from __future__ import annotations

import contextlib
import json

from headrace.delivery.checkpoint import local_path


def count_start(checkpoint: str) -> int:
    """Note a start, and give how many there were before on this checkpoint.

    The note lies beside the checkpoint, as its lock does. Where that cannot be read or
    written, as on another file system, nothing was before: it is only a number for
    people.

    Args:
        checkpoint: The directory, as Spark is given it.
    """
    path = local_path(checkpoint)
    if path is None:
        return 0
    note, before = path.with_name(path.name + ".starts"), 0
    if path.is_dir():
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            before = int(json.loads(note.read_text())["starts"])
    with contextlib.suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps({"starts": before + 1}))
    return before
