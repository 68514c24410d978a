"""The run directory: one set of servers, their data, their notes, and who may act."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from headrace.artifacts.storage import disk_error
from headrace.errors import MachineError, ServiceError
from headrace.services.account import Account, service_account
from headrace.settings import Settings, project_file

_RUN_FILE = "run.json"
_LOCK_FILE = "run.lock"


@dataclass(frozen=True)
class Run:
    """What a run directory remembers between commands."""

    run_id: str
    cluster_id: str
    brokers: int | None = None
    ports: dict[str, int] = field(default_factory=dict)
    services: tuple[str, ...] = ()


def default_run_dir(settings: Settings) -> Path:
    """Give the project's run directory, so that two projects never share servers.

    A project is the directory of the nearest ``headrace.toml``; everything
    outside a project shares one directory.
    """
    file = project_file()
    if file is None:
        return settings.state_dir / "default"
    project = file.parent.resolve()
    mark = hashlib.sha256(os.fsencode(project)).hexdigest()[:8]
    return settings.state_dir / f"{project.name}-{mark}"


class RunDirectory:
    """A directory of mode 0700 that belongs to the servers' account."""

    def __init__(self, settings: Settings, path: Path | None = None) -> None:
        self.path = (path or default_run_dir(settings)).expanduser().absolute()
        self.account: Account = service_account(settings)
        self._lock: int | None = None

    @property
    def lock(self) -> int | None:
        """The open lock, while this process holds it."""
        return self._lock

    @property
    def exists(self) -> bool:
        """Whether servers were ever started here."""
        return (self.path / _RUN_FILE).is_file()

    def create(self) -> None:
        """Make the directory; harmless if it is there.

        Raises:
            MachineError: [directory-not-writable], [directory-closed], [disk-full].
        """
        self.account.require_reach(self.path.parent)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700, exist_ok=True)
            self._refuse_strange_content()
            self.path.chmod(0o700)
            self.account.own(self.path)
        except PermissionError as error:
            raise MachineError(
                "directory-not-writable",
                "the run directory cannot be made",
                detail=str(error),
                hint="choose another with --dir or HEADRACE_STATE_DIR.",
                where=str(self.path),
            ) from error
        except OSError as error:
            raise disk_error(error, self.path) from error

    def _refuse_strange_content(self) -> None:
        """Keep away from a directory that holds something else than our servers."""
        names = {entry.name for entry in self.path.iterdir()}
        if names and not names & {_RUN_FILE, _LOCK_FILE}:
            raise ServiceError(
                "directory-not-ours",
                "the directory holds files that are not headrace's",
                hint="choose an empty or a new directory with --dir.",
                where=str(self.path),
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Act alone on this directory.

        Raises:
            ServiceError: [run-directory-busy] another command is acting on it.
        """
        lock = os.open(self.path / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise ServiceError(
                "run-directory-busy",
                "another headrace command is starting or stopping these servers",
                hint="wait for it, or choose another directory with --dir.",
                where=str(self.path),
            ) from None
        self._lock = lock
        try:
            yield
        finally:
            self._lock = None
            os.close(lock)

    def read(self) -> Run:
        """Read what the directory remembers, or begin a new run."""
        if not self.exists:
            # A Kafka cluster id is a UUID in URL-safe base64; a leading dash
            # would look like an option to Kafka's own tools.
            text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
            cluster_id = text.replace("-", "A", 1) if text[0] == "-" else text
            return Run(run_id=uuid.uuid4().hex, cluster_id=cluster_id)
        content = json.loads((self.path / _RUN_FILE).read_text())
        run = Run(**content)
        return replace(run, services=tuple(run.services))

    def remember(self, run: Run) -> None:
        """Write what the directory remembers, whole or not at all."""
        self.write(_RUN_FILE, json.dumps(asdict(run), indent=2) + "\n")

    def write(self, name: str, text: str) -> Path:
        """Write a file of the servers' account that nobody else can read."""
        path = self.path / name
        draft = path.with_name(path.name + ".draft")
        try:
            self.make(path.parent)
            draft.touch(mode=0o600)
            draft.write_text(text)
            self.account.own(draft)
            draft.replace(path)
        except OSError as error:
            raise disk_error(error, self.path) from error
        return path

    def make(self, path: Path) -> Path:
        """Make a directory of the servers' account, inside this one."""
        missing = [p for p in (path, *path.parents) if not p.exists()]
        for directory in reversed(missing):
            directory.mkdir(mode=0o700)
            self.account.own(directory)
        return path

    def clear(self) -> None:
        """Remove everything but the lock; the servers must be down."""
        for entry in self.path.iterdir():
            if entry.name == _LOCK_FILE:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
