"""The run directory: one set of servers, their data, their notes, and who may act."""

from __future__ import annotations

import base64
import errno
import fcntl
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from headrace.artifacts.storage import disk_error, make_open
from headrace.errors import MachineError, ServiceError
from headrace.services.account import Account, service_account
from headrace.settings import Settings, project_file

_RUN_FILE = "run.json"
_LOCK_FILE = "run.lock"
_DRAFT = ".draft"
_REMOVED = "removed-"

_NOT_WRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}


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
        self.path = (path or default_run_dir(settings)).expanduser().resolve()
        self.account: Account = service_account(settings)
        self._lock: int | None = None

    @property
    def lock(self) -> int | None:
        """The open lock, while this process holds it."""
        return self._lock

    @property
    def exists(self) -> bool:
        """Whether servers were ever started here."""
        with self._errors_named():
            return (self.path / _RUN_FILE).is_file()

    def create(self) -> None:
        """Make the directory; harmless if it is there.

        Raises:
            MachineError: [directory-not-writable], [directory-closed], [disk-full].
        """
        self.account.require_reach(self.path.parent)
        with self._errors_named():
            make_open(self.path.parent)
            self.path.mkdir(mode=0o700, exist_ok=True)
            self._refuse_strange_content()
            self.path.chmod(0o700)
            self.account.own(self.path)

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno not in _NOT_WRITABLE:
                raise disk_error(error, self.path) from error
            raise MachineError(
                "directory-not-writable",
                "the run directory cannot be used",
                detail=str(error),
                hint="choose another with --dir or HEADRACE_STATE_DIR.",
                where=str(self.path),
            ) from error

    def _refuse_strange_content(self) -> None:
        """Keep away from a directory that holds something else than our servers."""
        names = {entry.name for entry in self.path.iterdir()}
        # A first command that was killed leaves nothing but these.
        beginnings = {_LOCK_FILE, _RUN_FILE + _DRAFT}
        strange = {n for n in names - beginnings if not n.startswith(_REMOVED)}
        owner = os.geteuid() if self.account.uid is None else self.account.uid
        if names and self.path.stat().st_uid != owner:
            raise ServiceError(
                "directory-not-ours",
                "the directory belongs to another account",
                hint="run the command as that account, or choose another directory "
                "with --dir.",
                where=str(self.path),
            )
        if strange and _RUN_FILE not in names:
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
        with self._errors_named():
            lock = os.open(
                self.path / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600
            )
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
        """Read what the directory remembers, or begin a new run.

        Raises:
            ServiceError: [directory-not-ours] the memory is not one of ours.
        """
        if not self.exists:
            # A Kafka cluster id is a UUID in URL-safe base64; a leading dash
            # would look like an option to Kafka's own tools.
            text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
            cluster_id = text.replace("-", "A", 1) if text[0] == "-" else text
            return Run(run_id=uuid.uuid4().hex, cluster_id=cluster_id)
        try:
            run = Run(**json.loads((self.path / _RUN_FILE).read_text()))
            return replace(run, services=tuple(run.services))
        except (ValueError, TypeError) as error:
            raise ServiceError(
                "directory-not-ours",
                f"{_RUN_FILE} is damaged, or not headrace's",
                detail=str(error),
                hint="choose another directory with --dir; if it was ours, `headrace "
                "up --fresh` begins without data.",
                where=str(self.path / _RUN_FILE),
            ) from error

    def remember(self, run: Run) -> None:
        """Write what the directory remembers, whole or not at all."""
        self.write(_RUN_FILE, json.dumps(asdict(run), indent=2) + "\n")

    def write(self, name: str, text: str) -> Path:
        """Write a file of the servers' account that nobody else can read."""
        path = self.path / name
        draft = path.with_name(path.name + _DRAFT)
        self.make(path.parent)
        with self._errors_named():
            # Made anew: the directory belongs to a server, and whatever it may have
            # put there, root neither follows nor fills it.
            draft.unlink(missing_ok=True)
            draft.touch(mode=0o600, exist_ok=False)
            draft.write_text(text)
            self.account.own(draft)
            draft.replace(path)
        return path

    def make(self, path: Path) -> Path:
        """Make a directory of the servers' account, inside this one."""
        with self._errors_named():
            for directory in reversed((path, *path.parents)):
                if not directory.exists():
                    directory.mkdir(mode=0o700)
                elif not self._was_cut_short(directory):
                    continue
                self.account.own(directory)
        return path

    def _was_cut_short(self, directory: Path) -> bool:
        """Tell whether a killed command made a directory and did not give it away."""
        inside = self.path in directory.parents
        return inside and directory.lstat().st_uid == os.geteuid()

    def clear(self, processes: Iterable[str]) -> None:
        """Remove the data of processes and the memory of the run.

        The servers must be down. Each directory first moves aside as a whole, so
        that a command killed half-way leaves no half of a server's data behind.
        """
        with self._errors_named():
            aside = self.path / f"{_REMOVED}{uuid.uuid4().hex}"
            aside.mkdir(mode=0o700)
            for name in (*processes, _RUN_FILE):
                with suppress(FileNotFoundError):
                    (self.path / name).rename(aside / name)
            for left in self.path.glob(f"{_REMOVED}*"):
                shutil.rmtree(left)
