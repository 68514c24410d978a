"""Become a server: the step between our command and a process that outlives it.

Run as a program of its own, this module leaves the caller's session, gives up root,
notes who it is, and turns into the server. The note is written *before* the server
exists and names a process by its birth as well as its number, so whatever happens to
the caller, no server runs that ``headrace down`` cannot find, and no stranger that
was later given the same number is ever mistaken for one of ours.

Only the standard library is used: a server's start should not wait for imports.
Root is given up first, so that no link planted by a server leads root astray.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

_FILES = 10240
"""The most that macOS grants; Linux would grant more."""


def birth(pid: int) -> str | None:
    """Give a mark of a process's start that no other process shares, or None.

    On Linux it is the boot's id and the start in clock ticks since then, which a
    change of the wall clock does not move. Elsewhere it is the start time.
    """
    if not Path("/proc/self/stat").exists():
        return _birth_by_ps(pid)
    try:
        # The command's name may hold spaces and brackets; fields follow the last.
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    # While one of its threads is left, a dead process still holds its ports.
    if fields[0] in "ZX" and int(fields[17]) <= 1:
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{fields[19]}"


def _birth_by_ps(pid: int) -> str | None:
    """Ask ``ps``, in one language and time zone, so that the answer stays the same."""
    answer = subprocess.run(
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)],
        env={"LC_ALL": "C", "TZ": "UTC0"},
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    state, _, start = answer.strip().partition(" ")
    return None if state[:1] in {"", "Z"} else start.strip()


def _write_note(path: Path) -> None:
    note = {"pid": os.getpid(), "birth": birth(os.getpid())}
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(note))
    draft.replace(path)


def _allow_many_files() -> None:
    """Raise a low limit: a broker keeps several files open for each partition."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _become(order: dict[str, Any]) -> NoReturn:
    os.setsid()
    os.umask(0o077)
    _allow_many_files()
    if order["uid"] is not None:
        os.setgroups([])
        os.setgid(order["gid"])
        os.setuid(order["uid"])
    os.chdir(order["directory"])
    _write_note(Path(order["note"]))
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
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
        except BaseException as error:
            os.write(sending, str(error).encode())
            os._exit(127)
    os.close(sending)
    # The pipe closes by itself when the server takes over; only a failure writes.
    with os.fdopen(receiving) as pipe:
        problem = pipe.read()
    if problem:
        sys.exit(problem)


if __name__ == "__main__":
    main()
