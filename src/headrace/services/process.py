"""One server process: start it so that it outlives us, know it again, stop it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from headrace.errors import ServiceError
from headrace.services import launch
from headrace.services.disk import require_space
from headrace.services.rundir import RunDirectory

LANGUAGE = {"LANG": "C.UTF-8"}
"""Messages in English, and paths with any letters: a JVM reads them as LANG says."""

_LOG_KEEP_BYTES = 8 * 2**20
_BURIAL_SECONDS = 5.0


@dataclass(frozen=True)
class Command:
    """How a server process is started and stopped."""

    arguments: Sequence[str | Path]
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_signal: signal.Signals = signal.SIGTERM


class ServerProcess:
    """A process of a run directory, known by name; it may be running or not.

    Everything about it lies in ``<run directory>/<name>/``: its configuration, its
    data, its log, and the note with its number and birth.
    """

    def __init__(self, run_directory: RunDirectory, name: str) -> None:
        self.name = name
        self._run_directory = run_directory
        self.directory = run_directory.path / name
        self.log = self.directory / f"{name}.log"
        self._note = self.directory / "process.json"

    @property
    def pid(self) -> int | None:
        """The number of the running process, or None.

        A note whose process is gone, or whose number now belongs to somebody
        else, counts as not running.
        """
        pid, born, author = self._read_note()
        if pid is None or launch.birth(pid) != born or not _may_name(author, pid):
            return None
        return pid

    def _read_note(self) -> tuple[int | None, str, int]:
        """Give the noted number and birth, and the account that noted them."""
        try:
            note = json.loads(self._note.read_text())
            return int(note["pid"]), str(note["birth"]), self._note.lstat().st_uid
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None, "", -1

    @property
    def was_started(self) -> bool:
        """Whether it was started and not stopped since: running, or dead."""
        return self._note.exists()

    def start(self, command: Command) -> None:
        """Start the process apart from this one.

        Raises:
            ServiceError: [service-not-startable] the program could not be run.
        """
        self._run_directory.make(self.directory)
        pid, _, _ = self._read_note()
        await_burial([pid])
        self._rotate_log()
        lock = self._run_directory.lock
        account = self._run_directory.account
        order = {
            "command": [str(argument) for argument in command.arguments],
            "environment": self._environment(command),
            "directory": str(self.directory),
            "log": str(self.log),
            "note": str(self._note),
            "uid": account.uid,
            "gid": account.gid,
            "lock": lock,
        }
        launched = subprocess.run(
            [sys.executable, "-I", "-S", launch.__file__],
            input=json.dumps(order),
            pass_fds=() if lock is None else (lock,),
            capture_output=True,
            text=True,
            check=False,
        )
        if launched.returncode != 0:
            require_space(self.directory)
            raise ServiceError(
                "service-not-startable",
                f"{self.name} could not be started",
                detail=launched.stderr.strip(),
                where=str(self.directory),
            )

    def _environment(self, command: Command) -> dict[str, str]:
        # A server gets what it is given, not the user's shell: settings such as
        # KAFKA_OPTS or PGDATA would make two machines behave differently.
        passed_on = {"TZ": os.environ["TZ"]} if "TZ" in os.environ else {}
        home = {"HOME": str(self.directory), "PATH": os.defpath}
        return passed_on | home | LANGUAGE | dict(command.environment)

    def _rotate_log(self) -> None:
        if self.log.exists() and self.log.stat().st_size > _LOG_KEEP_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))

    def stop(self, command_signal: signal.Signals, patience: float) -> bool:
        """Stop the process, in the end by force; tell whether force was needed."""
        pid = self.pid
        forced = False
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, command_signal)
            if not self._gone_within(patience):
                forced = True
                # The process leads its own group, so its children go with it.
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
                self._gone_within(10)
        self._note.unlink(missing_ok=True)
        return forced

    def kill(self) -> None:
        """Kill the process and its children, without waiting for their end."""
        pid = self.pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            self._note.unlink(missing_ok=True)

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.pid is not None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def listens_on(self, port: int) -> bool:
        """Tell whether it is this very process that listens on a port."""
        pid = self.pid
        if pid is None:
            return False
        try:
            connections = psutil.Process(pid).net_connections("tcp")
        except psutil.Error:
            return False
        return any(
            c.status == psutil.CONN_LISTEN and c.laddr.port == port for c in connections
        )

    def memory(self) -> int:
        """Give the memory of the process and its children in bytes.

        What several of them share, as PostgreSQL's do, counts once where the system
        can tell.
        """
        pid = self.pid
        if pid is None:
            return 0
        try:
            process = psutil.Process(pid)
            family = [process, *process.children(recursive=True)]
            return sum(_memory_of(member) for member in family)
        except psutil.NoSuchProcess:
            return 0

    def log_tail(self, lines: int = 12) -> str:
        """Give the last lines of the log, for an error's detail."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - 16384))
            text = file.read().decode(errors="replace")
        return "\n".join(line[:200] for line in text.splitlines()[-lines:])


def _memory_of(process: psutil.Process) -> int:
    try:
        known = process.memory_full_info()
    except psutil.AccessDenied:
        return int(process.memory_info().rss)
    return int(getattr(known, "pss", known.rss))


def await_burial(pids: Iterable[int | None]) -> None:
    """Wait until dead processes are off the system's list, for some seconds.

    A dead process stays on it until its parent takes note, which some systems' first
    process does now and then only. PostgreSQL takes such a one for a server that is
    still running, and a user may do so too.
    """
    left = {pid for pid in pids if pid is not None}
    deadline = time.monotonic() + _BURIAL_SECONDS
    while any(map(_is_zombie, left)) and time.monotonic() < deadline:
        time.sleep(0.02)


def _may_name(author: int, pid: int) -> bool:
    """Tell whether a note's author can have started a process.

    A server can write into its own directory. What it writes there must not make
    root signal the processes of another account.
    """
    try:
        return author in {0, psutil.Process(pid).uids().real}
    except psutil.NoSuchProcess:
        return False


def _is_zombie(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
