"""Stacks of servers for tests, each in a directory of its own."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from observe import processes_in
from waiting import wait_until

from headrace.services import Stack
from headrace.settings import load_settings


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


def kill(stack: Stack, process: str) -> None:
    """Kill one of its processes, and wait until it is gone."""
    pid = stack.site().process(process).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(f"{process} is gone", lambda: stack.site().process(process).pid is None)
