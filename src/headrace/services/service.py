"""What every service says about itself, and what it is given to work with."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from headrace.artifacts import Cache, ClassArchive, Java, locked
from headrace.errors import ServiceError
from headrace.services.disk import require_space
from headrace.services.ports import FREE_RANGE, LOOPBACK
from headrace.services.process import LANGUAGE, Command, ServerProcess
from headrace.services.rundir import Run, RunDirectory
from headrace.settings import Settings


class NotReadyError(Exception):
    """A server does not do its work yet; the text says what is missing."""


@dataclass(frozen=True)
class Site:
    """Where a service runs: its directory, its ports, and the tools at hand."""

    run_directory: RunDirectory
    run: Run
    settings: Settings
    java: Java

    @property
    def brokers(self) -> int:
        """How many Kafka brokers this run has."""
        return self.run.brokers or 1

    @property
    def bootstrap(self) -> str:
        """The addresses of the Kafka brokers."""
        names = [f"kafka-{n}" for n in range(1, self.brokers + 1)]
        return ",".join(f"{LOOPBACK}:{self.port(name)}" for name in names)

    def port(self, name: str) -> int:
        """Give the port that was chosen under a name."""
        return self.run.ports[name]

    def process(self, name: str) -> ServerProcess:
        """Give a process of this run by its name."""
        return ServerProcess(self.run_directory, name)

    def archived(self, group: str) -> list[str]:
        """Return the options of a JVM whose class path is a group's jars.

        They let it map the archive of its classes, once there is one.
        """
        archive = ClassArchive(
            group, self.java, tuple(self.jars(group)), self.settings.cache_dir
        )
        return archive.options(make=self.settings.class_archives)

    def jars(self, group: str) -> list[Path]:
        """Give the verified files of a locked group."""
        return Cache(self.settings).paths(locked(group))

    def write(self, process: str, file: str, text: str) -> Path:
        """Write a configuration file of a process."""
        return self.run_directory.write(f"{process}/{file}", text)

    def make(self, process: str, directory: str) -> Path:
        """Make a directory of a process."""
        path = self.run_directory.path / process / directory
        return self.run_directory.make(path)

    def format_storage(self, process: str, command: Command, told: str = "") -> None:
        """Run the program that makes the storage of a process, as its account.

        Args:
            process: The process whose storage it is.
            command: The program with its arguments.
            told: What it reads from its input.

        Raises:
            ServiceError: [storage-not-formatted] the program failed.
            MachineError: [disk-full] it failed because of that.
        """
        directory = self.run_directory.path / process
        account, lock = self.run_directory.account, self.run_directory.lock
        done = subprocess.run(
            [str(argument) for argument in command.arguments],
            cwd=directory,
            user=account.uid,
            group=account.gid,
            extra_groups=None if account.uid is None else (),
            env=LANGUAGE | dict(command.environment),
            # Should we be killed, the directory stays busy until it has ended.
            pass_fds=() if lock is None else (lock,),
            input=told,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            require_space(directory)
            text = (done.stdout + done.stderr).strip()
            raise ServiceError(
                "storage-not-formatted",
                f"the storage of {process} could not be made",
                detail="\n".join(text.splitlines()[-8:]),
                where=str(directory),
            )


class Service(ABC):
    """One of the servers we run. Subclasses say how; `Stack` says when."""

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    by_default: ClassVar[bool] = True
    """Whether it starts when no service is named."""
    start_patience: ClassVar[float] = 90.0
    stop_patience: ClassVar[float] = 20.0

    def process_names(self, brokers: int) -> tuple[str, ...]:
        """Give the names of its processes."""
        return (self.name,)

    def ports(self, process: str) -> Mapping[str, range]:
        """Give the names of a process's ports, the public one first, with ranges."""
        return {process: FREE_RANGE}

    @abstractmethod
    def artifacts(self) -> tuple[str, ...]:
        """Give the locked groups it needs."""

    @abstractmethod
    def prepare(self, site: Site, process: str) -> None:
        """Write configuration and, the first time, make the data directory."""

    @abstractmethod
    def command(self, site: Site, process: str) -> Command:
        """Give the command that runs a process."""

    @abstractmethod
    def check(self, site: Site) -> None:
        """Use the service for real, as a client does.

        Raises:
            NotReadyError: It does not answer, or is not the one we started.
        """

    def settle(self, site: Site) -> None:  # noqa: B027 - most have nothing to set
        """Set what can only be set on a running server. Run after each start."""

    @abstractmethod
    def address(self, site: Site) -> str:
        """Give the address that clients use; it never holds a secret."""


def java_command(
    site: Site,
    *,
    heap_mb: int,
    options: Sequence[str] = (),
    run: Sequence[str | Path],
) -> Command:
    """Build the command of a JVM with a small, fixed footprint.

    Args:
        site: Where it runs.
        heap_mb: The largest heap; it starts at a quarter of that.
        options: Further JVM options.
        run: What to run: class path and main class, or a jar, with arguments.
    """
    return Command(
        [
            site.java.executable,
            f"-Xms{heap_mb // 4}m",
            f"-Xmx{heap_mb}m",
            "-XX:+UseSerialGC",
            "-XX:MaxMetaspaceSize=256m",
            "-XX:+ExitOnOutOfMemoryError",
            "-Djava.awt.headless=true",
            "-Djava.net.preferIPv4Stack=true",
            *options,
            *run,
        ]
    )


def class_path(jars: Iterable[Path]) -> tuple[str, str]:
    """Give the options that put jars on a JVM's class path."""
    return "-cp", ":".join(map(str, jars))


def properties(settings: Mapping[str, object]) -> str:
    r"""Give settings as a Java properties file, which is plain ASCII with escapes.

    Example:
        >>> properties({"dir": "/home/Zoë"})
        'dir=/home/Zo\\u00eb\n'
    """
    # The escapes of JSON are among those of properties files.
    rows = {key: json.dumps(str(value))[1:-1] for key, value in settings.items()}
    return "".join(f"{key}={value}\n" for key, value in rows.items())


def rolling_log(process: str) -> str:
    """Give a log4j configuration that keeps at most four files of 8 MB."""
    return f"""\
status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {process}.log
appender.file.filePattern = {process}.log.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{ISO8601}} %-5p %m (%c{{1}})%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 8MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""


def http_json(
    port: int,
    path: str,
    *,
    body: Mapping[str, Any] | None = None,
    method: str | None = None,
) -> Any:
    """Ask a loopback server for JSON.

    Raises:
        NotReadyError: It does not answer, or answers with an error.
    """
    request = urllib.request.Request(
        f"http://{LOOPBACK}:{port}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
        method=method,
    )
    # Without proxies: a proxy set for the outside must not see loopback traffic.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=5) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            raise NotReadyError(f"{path} answers {error.code}") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise NotReadyError(f"{path}: {error}") from error
