"""A pipeline that is run as a user runs it, and what it says of itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from headrace.log import create_topic, writer_settings
from headrace.services import Stack
from support.harness.log_use import admin_of, new_name
from support.harness.observe import COMMAND
from support.harness.waiting import wait_until

PIPELINE = """
from collections.abc import Callable
from datetime import datetime

from headrace import Pipeline, event, kafka, minutes, seconds, sinks, tumbling
from headrace import watermarks


@event(key="card", time="at")
class Payment:
    card: str
    number: int
    cents: int
    at: datetime


pipeline = Pipeline("{name}")
payments = pipeline.read(
    kafka("{name}-in", Payment),
    watermark=watermarks.by_partition(seconds(1), idle=None),
)
counts = payments.window("counts", tumbling(minutes(1)), by="card", paid="sum(cents)")
pipeline.write("copies", payments, sinks.kafka("{name}-copies"))
pipeline.write("counts", counts, sinks.kafka("{name}-counts"))
pipeline.write("late", counts.late, sinks.kafka("{name}-late"))
"""

# The rules as they are, with limits and windows that a test can wait for.
QUICK = (
    *("lag-growing.limit=20", "lag-growing.over=5s", "lag-growing.hold=0s"),
    *("watermark-stalled.over=10s", "watermark-stalled.hold=0s"),
    *("batch-stalled.limit=1", "batch-stalled.keep=0s"),
    "late-events.limit=0",
    *("checkpoint-slow.limit=1", "checkpoint-slow.hold=0s"),
)
SLOW_STORAGE = "io.headrace.delivery.FailingCheckpoints"


class WatchedRun:
    """``headrace run``, whose first write into its checkpoint waits for a file.

    Args:
        stack: The servers.
        home: A directory of the test's own.
    """

    def __init__(self, stack: Stack, home: Path) -> None:
        self.name = new_name("watched")
        self.stack = stack
        self.start = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
        self.paid = 0
        self.holding = home / "holding"
        self._said, self._data = home / "said", home / "data"
        (home / "payments.py").write_text(PIPELINE.format(name=self.name))
        create_topic(admin_of(stack), f"{self.name}-in", partitions=2)
        self._producer = Producer(writer_settings(stack.address("kafka")))
        self._command = [
            *(str(COMMAND), "run", str(home / "payments.py"), "--format", "json"),
            *("--dir", str(stack.run_directory.path)),
            *("--checkpoint", str(home / "checkpoint"), "--metrics", "0"),
            *("--watch-duplicates", f"{self.name}-copies=number"),
            *(
                "--conf",
                f"spark.sql.streaming.checkpointFileManagerClass={SLOW_STORAGE}",
            ),
            *(word for number in QUICK for word in ("--alert", number)),
        ]

    def __enter__(self) -> WatchedRun:
        failpoint = {"HEADRACE_FAILPOINT": f"before-offsets:1:{self.holding}"}
        with self._said.open("w") as said, self._data.open("w") as data:
            self.process = subprocess.Popen(
                self._command, stdout=data, stderr=said, env=os.environ | failpoint
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.holding.unlink(missing_ok=True)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(60)

    def pay(self, *numbers: int, at: int, partition: int = 0, **more: Any) -> None:
        """Write payments; `at` is seconds after the start of their world."""
        moment = (self.start + timedelta(seconds=at)).isoformat()
        self.paid += len(numbers)
        for number in numbers:
            told = {"card": "c1", "number": number, "cents": 5, "at": moment} | more
            value = json.dumps({k: v for k, v in told.items() if v is not None})
            self._producer.produce(f"{self.name}-in", value, "c1", partition)
        assert self._producer.flush(30) == 0

    def said(self) -> str:
        """Give all that was said to people so far."""
        return self._said.read_text()

    def batches(self) -> list[dict[str, Any]]:
        """Give what was told of each batch."""
        return [json.loads(line) for line in self._data.read_text().splitlines()]

    def await_line(self, text: str, meanwhile: Callable[[], object] = int) -> str:
        """Wait until a line with this text was said, and give it.

        Args:
            text: A part of the line.
            meanwhile: What is done again and again until then.
        """

        def line() -> str:
            assert self.process.poll() is None, self.said()
            found = [one for one in self.said().splitlines() if text in one]
            if not found:
                meanwhile()
            return found[0] if found else ""

        try:
            return wait_until(f"it says {text}", line, seconds=180, step=0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.said()}") from error

    def ask(self, path: str) -> tuple[int, str]:
        """Ask the run itself."""
        found = re.search(r"metrics at (\S+)/metrics", self.said())
        assert found, self.said()
        try:
            with urllib.request.urlopen(f"{found[1]}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metric(self, name: str, **labels: str) -> float | None:
        """Give a metric, by some of its labels."""
        for line in self.ask("/metrics")[1].splitlines():
            head, _, value = line.rpartition(" ")
            wanted = (f'{label}="{text}"' for label, text in labels.items())
            if re.match(rf"{name}[{{ ]", line) and all(w in head for w in wanted):
                return float(value)
        return None

    def await_metric(self, name: str, least: float, **labels: str) -> float:
        """Wait until a metric is at least so much, and give it."""

        def value() -> float | None:
            found = self.metric(name, **labels)
            return found if found is not None and found >= least else None

        found = wait_until(f"{name} is {least}", value, seconds=180, step=0.1)
        assert found is not None
        return found
