"""A pipeline that is started again whenever it ends, as a supervisor does it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from support.harness.ledgers import batches

COMMAND = "from headrace.cli import main; main()"


@dataclass
class Supervised:
    """Keeps `headrace run` running.

    Args:
        file: The pipeline's file.
        run_directory: Whose servers it uses.
        home: Where its checkpoint and its output are kept.
        environment: What it is told beside.
    """

    file: Path
    run_directory: Path
    home: Path
    environment: dict[str, str]
    ends: list[int] = field(default_factory=list)
    _enough: threading.Event = field(default_factory=threading.Event)
    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Supervised:
        self._thread = threading.Thread(target=self._supervise, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def log(self) -> Path:
        return self.home / "pipeline.log"

    @property
    def slugs(self) -> set[str]:
        """The names of the errors with which it has ended."""
        return set(re.findall(r"Error \[([a-z-]+)\]", self.log.read_text()))

    @property
    def is_settled(self) -> bool:
        """Whether each batch that was begun is in all sinks, not in some of them."""
        checkpoint = self.home / "checkpoint"
        return batches(checkpoint, "offsets") == batches(checkpoint, "commits")

    def kill(self) -> None:
        """Kill driver and JVM at once."""
        process = self._process
        if process is not None:
            os.killpg(process.pid, signal.SIGKILL)

    def stop(self) -> None:
        """Let it finish its batch, and start it no more."""
        self._enough.set()
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
        self._thread.join(120)
        assert not self._thread.is_alive(), "it does not end"

    def _supervise(self) -> None:
        command = [
            *(sys.executable, "-c", COMMAND, "run", str(self.file)),
            *("--dir", str(self.run_directory)),
            *("--checkpoint", str(self.home / "checkpoint"), "--every", "0.5"),
        ]
        while not self._enough.is_set():
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=os.environ | self.environment,
                    start_new_session=True,
                )
                self.ends.append(self._process.wait())
                # A JVM may outlive its driver for a moment.
                self.kill_rest()

    def kill_rest(self) -> None:
        """End what is left of the group."""
        if self._process is not None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return
