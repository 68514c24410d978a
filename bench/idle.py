"""What a pipeline costs that has little to do: no input, and a few events a second.

It runs the pipeline of the README by ``headrace run``, and counts the processor time
of its two processes apart: Python, which is the driver's outside, and Java. Processor
time hardly depends on what else the machine does, unlike the delays beside it, which
are from when an event was handed to a producer to when a reader of committed data has
it.

Run it: ``python bench/idle.py --rate 100 --seconds 40``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
from confluent_kafka import Consumer, Producer
from ground import running

from headrace.log import administer, client_settings, create_topic, writer_settings
from headrace.services import Stack

PIPELINE = """
from headrace import Pipeline, event, kafka, sinks


@event(key="card")
class Payment:
    card: str
    cents: int
    sent_at: float


large = Pipeline("large-payments")
payments = large.read(kafka("payments", Payment))
large.write("large", payments.where("cents > 100000"), sinks.kafka("large-payments"))
"""

START_SECONDS = 240.0
LONE_EVENTS = 8
LONE_SECONDS = 2.5


class Sender:
    """Hands payments to a producer, each with the time of that."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({**writer_settings(bootstrap), "linger.ms": 5})
        self._sent = 0

    def send(self) -> None:
        """Send one payment."""
        card = f"c{self._sent % 100}"
        payment = {"card": card, "cents": 100_001, "sent_at": time.time()}
        self._producer.produce("payments", key=card, value=json.dumps(payment))
        self._sent += 1

    def lone(self) -> None:
        """Send single payments with silences between."""
        for _ in range(LONE_EVENTS):
            self.send()
            self._producer.flush()
            time.sleep(LONE_SECONDS)

    def steadily(self, rate: int, seconds: float) -> None:
        """Send at a steady rate."""
        began, first = time.monotonic(), self._sent
        while (past := time.monotonic() - began) < seconds:
            while self._sent < first + int(past * rate):
                self.send()
            self._producer.poll(0.005)
        self._producer.flush()


class Reader(threading.Thread):
    """Notes when each payment was sent and how long it took."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__()
        settings = {
            "group.id": "idle",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 10,
        }
        self._consumer = Consumer({**client_settings(bootstrap), **settings})
        self._consumer.subscribe(["large-payments"])
        self._done = threading.Event()
        self.delays: list[tuple[float, float]] = []

    def run(self) -> None:
        """Read until the end is called for."""
        while not self._done.is_set():
            for message in self._consumer.consume(1000, 0.05):
                sent_at = json.loads(message.value() or b"{}")["sent_at"]
                self.delays.append((sent_at, time.time() - sent_at))
        self._consumer.close()

    def end(self) -> None:
        """Stop reading."""
        self._done.set()
        self.join()


class Watched:
    """A run of the pipeline, and what it has cost."""

    def __init__(self, process: psutil.Process, checkpoint: Path) -> None:
        self._python = process
        self._checkpoint = checkpoint

    def _java(self) -> psutil.Process:
        below = self._python.children(recursive=True)
        return next(child for child in below if child.name() == "java")

    def batches(self) -> int:
        """Count the batches that have ended."""
        commits = self._checkpoint / "commits"
        names = (path.name for path in commits.glob("*"))
        return max((int(name) + 1 for name in names if name.isdigit()), default=0)

    def await_batches(self, number: int) -> None:
        """Wait until so many batches have ended."""
        deadline = time.monotonic() + START_SECONDS
        while self.batches() < number:
            if time.monotonic() > deadline or not self._python.is_running():
                raise RuntimeError("the pipeline has not started")
            time.sleep(0.1)

    def measure(self, what: str, act: Callable[[], None], reader: Reader) -> None:
        """Print what the processes take while something happens."""
        java, began = self._java(), time.time()
        first = self.batches()
        before = [_cpu(self._python), _cpu(java)]
        started = time.monotonic()
        act()
        wall = time.monotonic() - started
        python, jvm = (
            (_cpu(process) - then) / wall
            for process, then in zip((self._python, java), before, strict=True)
        )
        batches = self.batches() - first
        told = f"{what}: python {python:.1%}, java {jvm:.1%} of a core"
        told += f", {batches / wall:.1f} batches/s"
        if batches:
            told += f" of {(python + jvm) * wall / batches * 1000:.0f} ms"
        time.sleep(2.0)
        print(told + _percentiles(reader.delays, began, began + wall), flush=True)


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _percentiles(
    delays: Sequence[tuple[float, float]], since: float, until: float
) -> str:
    found = sorted(delay for sent, delay in delays if since <= sent < until)
    if not found:
        return ""
    told = [
        f"P{share * 100:g} {found[int(len(found) * share)] * 1000:.0f}"
        for share in (0.5, 0.95, 0.99)
    ]
    return f"; {len(found)} events, ms: {', '.join(told)}"


@contextmanager
def pipeline_running(
    bootstrap: str, home: Path, options: Sequence[str]
) -> Iterator[Watched]:
    """Run the pipeline as a user does, in a process of its own."""
    file, checkpoint = home / "large.py", home / "checkpoint"
    file.write_text(PIPELINE, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("headrace")), "run", str(file)]
    command += ["--bootstrap", bootstrap, "--checkpoint", str(checkpoint), *options]
    around = os.environ | {"HEADRACE_STATE_DIR": str(home / "state")}
    with (home / "run.log").open("w") as log:
        process = subprocess.Popen(command, env=around, stdout=log, stderr=log)
        try:
            yield Watched(psutil.Process(process.pid), checkpoint)
        finally:
            process.terminate()
            process.wait(START_SECONDS)


def measure(stack: Stack, home: Path, given: argparse.Namespace) -> None:
    """Run the pipeline without input, with lone events, and at a steady rate."""
    bootstrap = stack.address("kafka")
    admin = administer(bootstrap, stack.site().run.cluster_id)
    for topic in ("payments", "large-payments"):
        create_topic(admin, topic, partitions=3)
    sender, reader = Sender(bootstrap), Reader(bootstrap)
    reader.start()
    seconds, rate = given.seconds, given.rate
    try:
        with pipeline_running(bootstrap, home, given.options) as watched:
            # The first batch shows that it runs, and is what costs most of all.
            sender.steadily(10, 1.0)
            watched.await_batches(1)
            time.sleep(given.settle)

            def silence() -> None:
                time.sleep(seconds)

            def stream() -> None:
                sender.steadily(rate, seconds)

            watched.measure("no input", silence, reader)
            watched.measure("lone events", sender.lone, reader)
            watched.measure(f"{rate}/s at first", stream, reader)
            sender.steadily(rate, given.warm_up)
            watched.measure(f"{rate}/s, warm", stream, reader)
            watched.measure("no input again", silence, reader)
    finally:
        reader.end()


def main() -> None:
    """Start a broker, measure, stop it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--settle", type=float, default=15)
    parser.add_argument("--warm-up", type=float, default=40)
    parser.add_argument(
        "options", nargs="*", help="for headrace run, behind --: such as --every 0.5"
    )
    with running("kafka") as (stack, home):
        measure(stack, home, parser.parse_args())


if __name__ == "__main__":
    main()
