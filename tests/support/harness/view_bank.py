"""Accounts and payments that are fed to a pipeline, and what its views must hold."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from headrace import ViewError
from headrace.log import writer_settings
from headrace.views import Update, ViewClient
from support.harness.numbered_events import create
from support.harness.rig import TESTS
from support.harness.waiting import wait_until

HEADRACE = Path(sys.executable).parent / "headrace"
NUMBERS = count(1)
PARTITIONS = 3

Rows = dict[str, dict[str, Any]]


class Bank:
    """The input of a pipeline with views, and their reference model."""

    def __init__(self, bootstrap: str, home: Path, *, lanes: int = 1) -> None:
        self.name = f"bank-{next(NUMBERS)}-{os.getpid()}"
        self.bootstrap = bootstrap
        self.home = home
        self.lanes = lanes
        self.chance = random.Random(self.name)  # noqa: S311 - an order, no secret
        self.accounts: dict[int, int] = {}
        self.paid: Counter[tuple[str, str]] = Counter()
        self.spent: Counter[tuple[str, str]] = Counter()
        for topic in ("accounts", "payments"):
            create(bootstrap, f"{self.name}.{topic}", PARTITIONS)
        self.producer = Producer(writer_settings(bootstrap))

    @property
    def file(self) -> Path:
        """A user's file that declares the pipeline."""
        file = self.home / "bank.py"
        file.write_text(
            f"import sys\nsys.path.insert(0, {str(TESTS)!r})\n"
            f"from support.pipelines.viewed import pipeline\n"
            f"bank = pipeline({self.name!r}, {self.lanes})\n"
        )
        return file

    @property
    def given(self) -> dict[str, Any]:
        """What the driver is told."""
        return {
            "bootstrap": self.bootstrap,
            "name": self.name,
            "checkpoint": str(self.home / "checkpoint"),
            "lanes": self.lanes,
        }

    def feed(self, changes: int) -> None:
        """Change accounts and make payments, some of them gone again."""
        for _ in range(changes):
            id_ = self.chance.randrange(30)
            if self.chance.random() < 0.25:
                self.accounts.pop(id_, None)
                self._send("accounts", str(id_), None)
            else:
                cents = self.chance.randrange(1000)
                self.accounts[id_] = cents
                self._send("accounts", str(id_), {"id": id_, "cents": cents})
            card, hour = f"c{self.chance.randrange(4)}", self.chance.randrange(3)
            start = f"2026-01-01T00:{hour * 5:02}:00"
            cents = self.chance.randrange(60)
            self.paid[card, start] += 1
            self.spent[card, start] += cents
            told = {"card": card, "cents": cents, "at": f"{start}Z"}
            self._send("payments", card, told)
        assert self.producer.flush(60) == 0

    def _send(self, topic: str, key: str, value: dict[str, Any] | None) -> None:
        told = None if value is None else json.dumps(value)
        self.producer.produce(f"{self.name}.{topic}", told, key=key)

    def expected(self) -> dict[str, Rows]:
        """Give what the views hold once everything was read."""
        accounts = {
            str(id_): {"id": id_, "cents": cents}
            for id_, cents in self.accounts.items()
        }
        rich = {
            str(id_): {"id": id_, "euros": cents // 100}
            for id_, cents in self.accounts.items()
            if cents >= 500
        }
        velocity = {
            f'{{"card":"{card}","window_start":"{start}.000000Z"}}': {
                "card": card,
                "payments": n,
                "spent": self.spent[card, start],
            }
            for (card, start), n in self.paid.items()
            if self.spent[card, start] < 1000
        }
        return {"accounts": accounts, "rich": rich, "velocity": velocity}


def held(client: ViewClient) -> dict[str, Rows]:
    """Give what the views hold now, as far as the model tells it."""
    found: dict[str, Rows] = {}
    for view in ("accounts", "rich", "velocity"):
        rows = dict(client.rows(view))
        if view == "velocity":
            told = ("card", "payments", "spent")
            rows = {key: {n: row[n] for n in told} for key, row in rows.items()}
        found[view] = rows
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """`headrace view serve` in a process of its own, to be killed."""

    def __init__(self, bank: Bank) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [
            *(str(HEADRACE), "view", "serve", str(bank.file)),
            *("--port", str(self.port), "--store", str(bank.home / "views")),
            *("--bootstrap", bank.bootstrap),
        ]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = subprocess.DEVNULL
        self.process = subprocess.Popen(self._command, stdout=log, stderr=log)
        wait_until("the server answers", self._answers, seconds=60)

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, "the server has ended"
        try:
            with ViewClient(self.url) as client:
                return bool(client.views())
        except ViewError:
            return False

    def kill(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(30)

    @contextmanager
    def running(self) -> Iterator[Server]:
        self.start()
        try:
            yield self
        finally:
            if self.process is not None and self.process.poll() is None:
                self.kill()


class Watcher(threading.Thread):
    """Watches a view, and goes on where it was whenever the server is back."""

    def __init__(self, url: str, view: str) -> None:
        super().__init__(daemon=True)
        self.url, self.view = url, view
        self.heard: list[Update] = []
        self.error: ViewError | None = None
        self.is_over = threading.Event()

    def run(self) -> None:
        while not self.is_over.is_set():
            last = self.heard[-1].id if self.heard else None
            try:
                with ViewClient(self.url) as client:
                    for update in client.watch(self.view, after=last):
                        self.heard.append(update)
                        if self.is_over.is_set():
                            return
            except ViewError as error:
                if error.slug not in {"view-unreachable", "view-not-ready"}:
                    self.error = error
                    return
                self.is_over.wait(0.05)

    def rows(self) -> Rows:
        """Give what the updates lead to."""
        found: Rows = {}
        for update in self.heard:
            if update.op == "upsert":
                assert update.row is not None
                found[update.key] = update.row
            elif update.op == "delete":
                del found[update.key]
        return found
