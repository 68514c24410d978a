"""Run the driver in a process of its own, kill it, and look at what it left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from support.harness.numbered_events import CommittedReader, create, produce

# A program that runs by itself finds its imports from here on.
TESTS = Path(__file__).parents[2]
PIPELINES = TESTS / "support" / "pipelines"
DRIVER = PIPELINES / "driver.py"

PHASES = (
    "before-offsets",
    "after-offsets",
    "tasks-running",
    "lane-fenced",
    "ledger-read",
    "rows-flushed",
    "record-sent",
    "commit-in-doubt",
    "committed",
    "before-spark-commit",
    "after-spark-commit",
)

KILLED = {-signal.SIGKILL, 128 + signal.SIGKILL}


@dataclass(frozen=True)
class Ending:
    """How a driver ended: its exit status, and the JSON it said last."""

    status: int
    told: dict[str, Any]
    log: str

    @property
    def was_killed(self) -> bool:
        return self.status in KILLED


@dataclass
class Job:
    """One input topic, its copy, and the drivers that make it."""

    bootstrap: str
    directory: Path
    name: str
    lanes: int = 1
    per_batch: int = 300
    sent: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.input = f"{self.name}-in"
        self.outputs = [f"{self.name}-all", f"{self.name}-tenth"]
        self.checkpoint = self.directory / "checkpoint"
        create(self.bootstrap, self.input, 3)

    def feed(self, count: int, *, keys: int = 20, seed: int = 1) -> None:
        assert not self.sent, "the numbers of a key begin with 0"
        self.sent = produce(self.bootstrap, self.input, count, keys=keys, seed=seed)
        # What comes out is held against what went in, so that must be right itself.
        written = CommittedReader(self.bootstrap, [self.input])
        while written.seen < count:
            written.read()
        written.close()
        assert not written.accounts[self.input].faults(self.sent)

    def reader(self) -> CommittedReader:
        return CommittedReader(self.bootstrap, self.outputs)

    def given(self, **changes: Any) -> str:
        """Give what a driver is told, as JSON; changes are those of one driver."""
        usual = {
            "bootstrap": self.bootstrap,
            "pipeline": self.name,
            "input": self.input,
            "outputs": self.outputs,
            "checkpoint": str(self.checkpoint),
            "per_batch": self.per_batch,
            "adopt": [],
            "source": {},
            "where": "true",
            "sinks": None,
            "value": "value",
            "headers": "CAST(NULL AS array<struct<key:string,value:binary>>)",
        }
        terms = {"lanes": self.lanes} | changes.pop("terms", {})
        return json.dumps(usual | changes | {"terms": terms})

    def start(
        self, failpoint: str | None = None, **changes: Any
    ) -> subprocess.Popen[str]:
        """Start a driver."""
        return launch(DRIVER, self.given(**changes), failpoint)

    def run(self, failpoint: str | None = None, **changes: Any) -> Ending:
        return ending(self.start(failpoint, **changes))


def surroundings() -> dict[str, str]:
    """Give the environment of a program of `support`: its imports, no failpoint."""
    environment = dict(os.environ)
    environment.pop("HEADRACE_FAILPOINT", None)
    before = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS), *filter(None, [before])])
    return environment


def launch(
    script: Path, given: str, failpoint: str | None = None
) -> subprocess.Popen[str]:
    """Start a script with its only argument, to die where a failpoint says."""
    environment = surroundings()
    if failpoint:
        environment["HEADRACE_FAILPOINT"] = failpoint
    # A file and not a pipe: a JVM that outlives its driver would hold a pipe open.
    out = tempfile.TemporaryFile("w+")  # noqa: SIM115 - read after its end
    process = subprocess.Popen(
        [sys.executable, str(script), given],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        # In a group of its own, so that all of it can be ended.
        start_new_session=True,
    )
    process.stdout = out
    return process


def ending(process: subprocess.Popen[str], seconds: float = 180) -> Ending:
    """Wait for a driver's end and its JVM's, which may have more to send."""
    try:
        status = process.wait(seconds)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    psutil.wait_procs(list(group(process.pid)), timeout=30)
    assert process.stdout
    process.stdout.seek(0)
    log = process.stdout.read()
    process.stdout.close()
    last = log.strip().splitlines()[-1:] or [""]
    told = json.loads(last[0]) if last[0].startswith("{") else {}
    return Ending(status, told, log)


def group(number: int) -> Iterator[psutil.Process]:
    """Give the processes of a group."""
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getpgid(process.pid) == number:
                yield process


def stopped_jvm(driver: subprocess.Popen[str]) -> psutil.Process | None:
    """Give the driver's JVM once a failpoint has stopped it."""
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(driver.pid).children(recursive=True):
            if child.status() == psutil.STATUS_STOPPED and "java" in child.name():
                return child
    return None


def watched(driver: subprocess.Popen[str], reader: CommittedReader) -> Ending:
    """Read what becomes visible while a driver runs, and after its end."""
    try:
        while driver.poll() is None:
            reader.read()
    except BaseException:
        os.killpg(driver.pid, signal.SIGKILL)
        raise
    end = ending(driver)
    # Once more than nothing: an idle poll may fall between two fetches.
    while reader.read(1.0):
        pass
    return end
