"""Two ways to run a pipeline until it ends or crashes: cold processes, or one JVM.

Both take the module of a pipeline, what its `run` is given, and where it crashes, and
both give how it ended. A crash in the warm JVM leaves what a killed process leaves;
docs/decisions/0018 says why, and tests/faults/test_crashes_within.py shows it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from support.harness.rig import (
    PIPELINES,
    Ending,
    Job,
    ending,
    launch,
    surroundings,
)
from support.harness.waiting import wait_until

_DRIVER = Path(__file__).with_name("warm_driver.py")


_NUMBERS = count(1)


def unused(name: str) -> str:
    """Give a name that no other test of this process has."""
    return f"{name}-{next(_NUMBERS)}"


class Drivers(Protocol):
    """Runs pipelines of `support.pipelines`, each to its end or to a crash."""

    def run(
        self, pipeline: str, given: Mapping[str, Any], failpoint: str | None = None
    ) -> Ending:
        """Run a pipeline by the name of its module."""

    def close(self) -> None:
        """Leave nothing behind."""


class ColdDrivers:
    """A process for each run, which a failpoint kills."""

    def run(
        self, pipeline: str, given: Mapping[str, Any], failpoint: str | None = None
    ) -> Ending:
        script = PIPELINES / f"{pipeline}.py"
        return ending(launch(script, json.dumps(given), failpoint), 300)

    def close(self) -> None:
        """Nothing is left: each process has ended."""


class WarmDrivers:
    """One process for all runs, which outlives their crashes; see `warm_driver`."""

    def __init__(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="headrace-warm-"))
        self._log = self._home / "log"
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, pipeline: str, given: Mapping[str, Any], failpoint: str | None = None
    ) -> Ending:
        told = self._answer(
            {
                "module": f"support.pipelines.{pipeline}",
                "given": given,
                "failpoint": failpoint,
            }
        )
        if "crashed" in told:
            return Ending(-signal.SIGKILL, {}, "")
        return Ending(told["status"], told["told"], json.dumps(told["told"]))

    def _answer(self, order: dict[str, Any]) -> dict[str, Any]:
        process = self._started()
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            # The JVM writes its warnings here too.
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise AssertionError(f"the warm driver has ended:\n{self._log.read_text()}")

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            within = {
                "HEADRACE_FAILPOINT": "within",
                "SPARK_LOCAL_DIRS": str(self._home),
            }
            with self._log.open("w") as log:
                self._process = subprocess.Popen(
                    [sys.executable, str(_DRIVER)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=surroundings() | within,
                    start_new_session=True,
                )
        return self._process

    def close(self) -> None:
        """Kill it: an orderly end would close what has been abandoned."""
        if self._process is not None:
            assert self._process.stdin
            assert self._process.stdout
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(30)
            self._process.stdin.close()
            self._process.stdout.close()
        shutil.rmtree(self._home, ignore_errors=True)


@contextlib.contextmanager
def held_at(
    drivers: WarmDrivers,
    pipeline: str,
    given: Mapping[str, Any],
    place: str,
    file: Path,
) -> Iterator[Callable[[], Ending]]:
    """Start a run and hold it at a failpoint; give what lets it go on to its end.

    Only the thread that comes to the failpoint is held, as long as the file is there.
    """
    with ThreadPoolExecutor(1) as beside:
        running = beside.submit(drivers.run, pipeline, given, f"{place}:{file}")

        def go_on() -> Ending:
            file.unlink()
            return running.result(300)

        try:
            wait_until("the driver is held", file.exists, seconds=120)
            yield go_on
        finally:
            file.unlink(missing_ok=True)


class Workshop:
    """Many copies of topics in the warm JVM, one after the other; none dies."""

    def __init__(self, drivers: WarmDrivers) -> None:
        self._drivers = drivers

    def run(self, job: Job, **changes: Any) -> dict[str, Any]:
        """Run a job's query to the input's end; give what it said."""
        return self._drivers.run("driver", json.loads(job.given(**changes))).told
