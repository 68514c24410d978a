"""Become a server: the step between our command and a process that outlives it.

Run as a program of its own, this module leaves the caller's session, notes who it
is, gives up root, and turns into the server. The note is written *before* the server
exists and names a process by its birth as well as its number, so whatever happens to
the caller, no server runs that ``headrace down`` cannot find, and no stranger that
was later given the same number is ever mistaken for one of ours.

Only the standard library is used: a server's start should not wait for imports.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn


def birth(pid: int) -> str | None:
    """Give a mark of a process's start that no other process shares, or None.

    On Linux it is the boot's id and the start in clock ticks since then, which a
    change of the wall clock does not move. Elsewhere it is the start time.
    """
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            # The command's name may hold spaces and brackets; fields follow the last.
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        if fields[0] in "ZX":
            return None
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{fields[19]}"
    import psutil  # noqa: PLC0415 - not needed on Linux

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return f"{process.create_time():.2f}"
    except psutil.NoSuchProcess:
        return None


def _write_note(path: Path) -> None:
    note = {"pid": os.getpid(), "birth": birth(os.getpid())}
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(note))
    draft.replace(path)


def _become(order: dict[str, Any]) -> NoReturn:
    os.setsid()
    _write_note(Path(order["note"]))
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if order["uid"] is not None:
        os.fchown(log, order["uid"], order["gid"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(order["directory"])
    os.umask(0o077)
    if order["uid"] is not None:
        os.setgroups([])
        os.setgid(order["gid"])
        os.setuid(order["uid"])
    command = order["command"]
    os.execve(command[0], command, order["environment"])  # noqa: S606


def main() -> None:
    """Read the order from stdin, leave the server behind, say how it went.

    The caller passes the run directory's lock as an open file. It closes when the
    server takes over, so nobody else acts on the directory in between.
    """
    order = json.load(sys.stdin)
    if order["lock"] is not None:
        os.set_inheritable(order["lock"], False)
    receiving, sending = os.pipe()
    if os.fork() == 0:
        os.close(receiving)
        try:
            _become(order)
        except OSError as error:
            os.write(sending, str(error).encode())
            os._exit(127)
    os.close(sending)
    # The pipe closes by itself when the server takes over; only a failure writes.
    with os.fdopen(receiving) as pipe:
        problem = pipe.read()
    if problem:
        sys.stderr.write(problem)
        os._exit(1)


if __name__ == "__main__":
    main()
