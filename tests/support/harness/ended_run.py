"""A run that is ended at a moment of a test's choice, and what is left of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from confluent_kafka import Producer

from headrace.log import create_topic, writer_settings
from headrace.services import Stack
from support.harness.log_use import admin_of, consumed, new_name
from support.harness.observe import COMMAND
from support.harness.waiting import wait_until

PIPELINE = """
from headrace import Pipeline, event, kafka, sinks


@event(key="card")
class Payment:
    card: str
    number: int


pipeline = Pipeline("{name}")
payments = pipeline.read(kafka("{name}-in", Payment))
pipeline.write("copies", payments, sinks.kafka("{name}-copies"))
"""
HOLDING = "spark.sql.streaming.checkpointFileManagerClass"
HOLDING_STORAGE = "io.headrace.delivery.FailingCheckpoints"
HELD = "holding"
PATIENCE = 120


class Shop:
    """A pipeline that is started and ended again and again, over one checkpoint.

    Args:
        stack: The servers.
        home: A directory of the test's own.
    """

    def __init__(self, stack: Stack, home: Path) -> None:
        self.stack, self.home = stack, home
        self.name = new_name("ended")
        self.paid = 0
        self.file = home / "shop.py"
        self.file.write_text(PIPELINE.format(name=self.name))
        self.checkpoint = home / "checkpoint"
        create_topic(admin_of(stack), f"{self.name}-in", partitions=1)

    def pay(self, count: int) -> None:
        """Write so many payments more."""
        producer = Producer(writer_settings(self.stack.address("kafka")))
        for number in range(self.paid, self.paid + count):
            value = json.dumps({"card": "c1", "number": number})
            producer.produce(f"{self.name}-in", value, "c1")
        assert producer.flush(30) == 0
        self.paid += count

    def copied(self) -> list[int]:
        """Give the payments that came out, as a reader of committed data sees them."""
        found = consumed(self.stack, f"{self.name}-copies", "--values")
        return [payment["number"] for payment in found]

    def run(self, *more: str, hold: str = "", **environment: str) -> Run:
        """Start it.

        Args:
            more: Further options.
            hold: The place in a batch where it is held, until `Run.release`.
            environment: What it finds in its environment.
        """
        arguments = [
            *("run", str(self.file), "--dir", str(self.stack.run_directory.path)),
            *("--checkpoint", str(self.checkpoint), *more),
            *("--conf", f"{HOLDING}={HOLDING_STORAGE}"),
        ]
        if hold:
            environment["HEADRACE_FAILPOINT"] = f"{hold}:1:{self.home / HELD}"
        return Run(self.home, arguments, **environment)


class Run:
    """A command in a session of its own, as a terminal's foreground job is.

    Args:
        home: Where its output goes.
        arguments: Those of the command.
        environment: What it finds in its environment.

    Attributes:
        holding: The file that is there while a batch is held.
    """

    def __init__(
        self, home: Path, arguments: Sequence[str], **environment: str
    ) -> None:
        self.holding = home / HELD
        self._mark = uuid.uuid4().hex
        self._said = home / f"said-{self._mark}"
        marked = {"HEADRACE_TEST_MARK": self._mark, **environment}
        with self._said.open("w") as said:
            self.process = subprocess.Popen(
                [str(COMMAND), *arguments],
                stdout=said,
                stderr=said,
                env=os.environ | marked,
                start_new_session=True,
            )

    def said(self) -> str:
        """Give all that it has said so far."""
        return self._said.read_text()

    def says(self, text: str) -> Callable[[], bool]:
        """Give the condition that it has said something."""
        return lambda: text in self.said()

    def owns_its_signals(self) -> bool:
        """Tell whether SIGTERM has a handler."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (caught,) = (line for line in status.splitlines() if line.startswith("SigCgt"))
        return bool(int(caught.split()[1], 16) & 1 << (signal.SIGTERM - 1))

    def has_jvm(self) -> bool:
        """Tell whether a JVM was started."""
        return any(process.name() == "java" for process in self.processes())

    def listens(self, ports: int) -> Callable[[], bool]:
        """Give the condition that its JVM listens on so many ports."""

        def does() -> bool:
            return any(
                sum(c.status == psutil.CONN_LISTEN for c in process.net_connections())
                >= ports
                for process in self.processes()
                if process.name() == "java"
            )

        return does

    def signal_until_gone(self, sign: signal.Signals) -> None:
        """Send a signal again and again, as somebody does who is impatient."""

        def is_gone() -> bool:
            with suppress(ProcessLookupError):
                self.signal(sign)
            return self.process.poll() is not None

        wait_until("a second one is taken for one", is_gone, seconds=20, step=0.5)

    def processes(self) -> list[psutil.Process]:
        """Give all that live and descend from it, whatever has become of it."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                mark = process.environ().get("HEADRACE_TEST_MARK")
                if mark == self._mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def await_moment(self, condition: Callable[[], object]) -> None:
        """Wait for a moment, as long as it lives."""

        def is_there() -> bool:
            assert self.process.poll() is None, self.said()
            with suppress(psutil.Error):
                return bool(condition())
            return False

        wait_until(f"{condition} {self.said()}", is_there, seconds=PATIENCE)

    def signal(self, sign: signal.Signals) -> None:
        """Send Ctrl-C to its whole group, as a terminal does, or SIGTERM to it."""
        if sign is signal.SIGINT:
            os.killpg(self.process.pid, sign)
        else:
            self.process.send_signal(sign)

    def release(self) -> None:
        """Let the batch that is held go on."""
        self.holding.unlink()

    def status(self) -> int:
        """Wait for its end; give its exit status, when nothing of it is left."""
        code = self.process.wait(PATIENCE)
        wait_until(
            f"nothing is left of it: {self.said()}",
            lambda: not self.processes(),
            seconds=10,
        )
        return code

    def close(self) -> None:
        """End all that a test that fails has left."""
        self.holding.unlink(missing_ok=True)
        for process in self.processes():
            with suppress(psutil.Error):
                process.kill()
        self.process.wait(30)
