"""Keep the pipeline running, as a supervisor does, and hear what it tells."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bank import headrace

PIPELINE = Path(__file__).with_name("pipeline.py")
ERROR = 1

# As many state stores as cores are enough.
QUICK = {"spark.sql.shuffle.partitions": "2"}


class Driver:
    """``headrace run`` in a process of its own, started again when it was killed.

    Args:
        run_directory: Whose servers it uses.
        home: Where its checkpoint and its log are kept.
        environment: What the pipeline's file is told.
        patience: How often it may end by an error, such as that a server is away.
        conf: Settings of Spark.
    """

    def __init__(
        self,
        run_directory: Path,
        home: Path,
        environment: Mapping[str, str],
        patience: int = 0,
        conf: Mapping[str, str] = QUICK,
    ) -> None:
        self._patience = patience
        self._command = [
            *(*headrace(), "run", str(PIPELINE), "--format", "json"),
            *("--dir", str(run_directory), "--checkpoint", str(home / "checkpoint")),
            *(f"--conf={name}={value}" for name, value in conf.items()),
        ]
        self._environment = {**os.environ, **environment}
        self._enough = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._supervise, name="driver")
        self.log = home / "pipeline.log"
        self.first_batch = threading.Event()
        self.latest: dict[str, Any] = {}
        self.starts = 0
        self.failed = False

    def start(self) -> None:
        """Start it, and go on at once."""
        self._thread.start()

    def stop(self) -> None:
        """Let it finish its batch, and start it no more."""
        self._enough.set()
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
        self._thread.join()

    @property
    def pid(self) -> int | None:
        """The process, if it runs."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def kill(self) -> None:
        """End it at once, with its JVM."""
        process = self._process
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def told(self) -> str:
        """Give the end of what it said to people."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])

    def _supervise(self) -> None:
        while not self._enough.is_set():
            self.starts += 1
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=self._environment,
                    start_new_session=True,
                )
                self._listen(self._process)
            if self._process.wait() == ERROR:
                # It has said why; without a cause that passes, it would happen again.
                self._patience -= 1
                if self._patience < 0:
                    self.failed = True
                    return
            # A JVM may outlive the process that started it.
            self.kill()

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout  # noqa: S101 - a pipe was asked for
        for line in process.stdout:
            try:
                self.latest = json.loads(line)
            except ValueError:
                # The line of one that was killed.
                continue
            self.first_batch.set()
        process.stdout.close()
