"""Look at a run directory from outside: its processes, its files, its command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

COMMAND = Path(sys.executable).parent / "headrace"


def headrace(
    *arguments: str | Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    return subprocess.run(
        [COMMAND, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def status_of(directory: Path) -> dict[str, dict[str, Any]]:
    """Give what the command says about each process."""
    done = headrace("status", "--dir", directory, "--format", "json")
    return {process["process"]: process for process in json.loads(done.stdout)}


def processes_in(directory: Path) -> list[psutil.Process]:
    """Give every process that works in a directory or was pointed at it."""
    return [process for process in psutil.process_iter() if _is_in(process, directory)]


def _is_in(process: psutil.Process, directory: Path) -> bool:
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
            return False
        if Path(process.cwd()).is_relative_to(directory):
            return True
        return any(str(directory) in argument for argument in process.cmdline())
    return False
