"""Kill a server as nothing else does: at once, and all of it."""

from __future__ import annotations

import os
import signal

from headrace.services import Stack
from support.harness.waiting import wait_until


def kill(stack: Stack, process: str) -> None:
    """Kill one of a stack's processes, and wait until it is gone."""
    pid = stack.site().process(process).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(f"{process} is gone", lambda: stack.site().process(process).pid is None)
