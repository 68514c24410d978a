"""Stacks of servers for tests, each in a directory of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headrace.services import Stack
from headrace.settings import load_settings
from support.harness.observe import processes_in


@contextmanager
def servers(**flags: Any) -> Iterator[Stack]:
    """Give a stack in a directory of its own; nothing of it is left afterwards."""
    home = Path(tempfile.mkdtemp(prefix="headrace-test-"))
    home.chmod(0o755)
    # A space and an umlaut, as directories of real users have them.
    stack = Stack(home / "Müller's run", load_settings(**flags))
    try:
        yield stack
    finally:
        stack.down()
        left = processes_in(home)
        shutil.rmtree(home)
    assert left == []
