"""A Spark standalone cluster from PySpark's own files, on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
import pyspark

from headrace.artifacts import find_java
from headrace.services.ports import FREE_RANGE, LOOPBACK, choose_port
from support.harness.rig import group
from support.harness.waiting import wait_until

_HOME = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"
_EXECUTOR = "CoarseGrainedExecutorBackend"

# The daemons live for a minute, so what pays off later is left out.
_DAEMON_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass(frozen=True)
class Worker:
    """A worker, and the executors that it starts, which are its children."""

    process: subprocess.Popen[bytes]

    def executor(self) -> psutil.Process | None:
        """Give the executor that is here now, if one is."""
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(self.process.pid).children():
                with contextlib.suppress(psutil.Error):
                    if any(_EXECUTOR in word for word in child.cmdline()):
                        return child
        return None


class Cluster:
    """One master and its workers, of one core and 1 GB each.

    Each is in a process group of its own, a worker's executors in the worker's. At
    the end of the ``with`` none of them is left.

    Example:
        ``with Cluster(workers=2) as cluster: run("--master", cluster.url)``
    """

    def __init__(self, workers: int = 2) -> None:
        self._wanted = workers
        self._home = tempfile.TemporaryDirectory(prefix="headrace-spark-")
        self._processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[Worker] = []
        self._count = 0
        self.url = ""

    def __enter__(self) -> Cluster:
        try:
            self._start_master()
            self.add_workers(*[{}] * self._wanted)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def add_worker(self, **environment: str) -> Worker:
        """Start one more worker; its executors have the environment too."""
        [worker] = self.add_workers(environment)
        return worker

    def add_workers(self, *environments: dict[str, str]) -> list[Worker]:
        """Start workers beside each other; return when the master knows of all."""
        before = len(self._alive())
        added = [self._start_worker(environment) for environment in environments]
        self.workers += added
        self._await(
            f"the master has {len(added)} more workers",
            lambda: len(self._alive()) >= before + len(added),
        )
        return added

    def remove_worker(self, worker: Worker) -> None:
        """Kill a worker with its executors, as a machine dies."""
        self.workers.remove(worker)
        self._processes.remove(worker.process)
        _end([worker.process])

    def executors(self) -> list[psutil.Process]:
        """Give the executors that run now."""
        found = [worker.executor() for worker in self.workers]
        return [executor for executor in found if executor is not None]

    def log(self) -> str:
        """Give what the executors have logged, for the text of a failure."""
        files = sorted(Path(self._home.name).rglob("stderr"))
        return "\n".join(f"--- {file}\n{file.read_text()[-4000:]}" for file in files)

    def close(self) -> None:
        _end(self._processes)
        self._processes.clear()
        self.workers.clear()
        self._home.cleanup()

    def _start_master(self) -> None:
        seed = self._home.name
        port = choose_port(None, seed, (), FREE_RANGE)
        self._page_port = choose_port(None, seed, (port,), FREE_RANGE)
        place = self._place("master")
        ports = ("--port", str(port), "--webui-port", str(self._page_port))
        self._start(place, "master.Master", "--host", LOOPBACK, *ports)
        self._await("the master answers", lambda: bool(self._state()))
        # Where its port was taken meanwhile, the master has chosen the next one.
        self.url = self._state()["url"]

    def _start_worker(self, environment: dict[str, str]) -> Worker:
        self._count += 1
        place = self._place(f"worker-{self._count}")
        room = ("--cores", "1", "--memory", "1g", "--work-dir", str(place / "apps"))
        listens = ("--host", LOOPBACK, "--webui-port", "0")
        return Worker(
            self._start(
                place, "worker.Worker", *listens, *room, self.url, **environment
            )
        )

    def _await(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait for daemons that are starting; where one ends, show what it said."""

        def ended() -> bool:
            return any(process.poll() is not None for process in self._processes)

        try:
            wait_until(what, lambda: condition() or ended(), seconds=90)
            assert not ended(), f"a daemon ended before {what}"
        except AssertionError as error:
            said = sorted(Path(self._home.name).glob("*/said"))
            error.add_note("\n".join(file.read_text()[-2000:] for file in said))
            raise

    def _state(self) -> dict[str, Any]:
        """Give what the master's page says as JSON; nothing if it does not answer."""
        address = f"http://{LOOPBACK}:{self._page_port}/json/"
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                told: dict[str, Any] = json.load(answer)
        except (OSError, ValueError):
            return {}
        return told

    def _alive(self) -> list[dict[str, Any]]:
        known = self._state().get("workers", [])
        return [worker for worker in known if worker["state"] == "ALIVE"]

    def _place(self, name: str) -> Path:
        place = Path(self._home.name, name)
        place.mkdir()
        return place

    def _start(
        self, place: Path, name: str, *arguments: str, **environment: str
    ) -> subprocess.Popen[bytes]:
        """Start a daemon; its files and its words go to `place`."""
        # Settings of a Spark that is installed on the machine are not ours.
        usual = {k: v for k, v in os.environ.items() if not k.startswith("SPARK_")}
        own = {
            "JAVA_HOME": str(find_java().home),
            "SPARK_HOME": str(_HOME),
            "SPARK_CONF_DIR": str(place),
            "SPARK_LOCAL_DIRS": str(place / "local"),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": _DAEMON_OPTIONS,
        }
        with (place / "said").open("wb") as said:
            process = subprocess.Popen(
                [str(_HOME / "bin" / "spark-class"), f"{_DEPLOY}.{name}", *arguments],
                cwd=place,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env=usual | own | environment,
                start_new_session=True,
            )
        self._processes.append(process)
        return process


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    """Kill process groups, and wait until nothing of them runs."""
    members = [member for leader in processes for member in group(leader.pid)]
    for leader in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(leader.pid, signal.SIGKILL)
    for leader in processes:
        leader.wait(30)
    _, alive = psutil.wait_procs(members, timeout=30)
    assert not alive, f"still running: {alive}"


def kill(process: psutil.Process) -> None:
    """Kill a process with -9, and wait until it is gone."""
    process.kill()
    _, alive = psutil.wait_procs([process], timeout=30)
    assert not alive, f"still running: {alive}"
