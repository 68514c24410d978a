"""How long a read of a view takes at a steady rate, while batches come in.

`headrace view serve` follows a topic that a writer fills as a pipeline does: batches
in transactions, stamped, with a ledger. Readers ask for rows by key at a steady rate;
the time counts from when a read was due, so that waiting for another one counts too.
Beside them, on another connection, the server is asked what needs no row: what that
takes is the machine's and the server's own, and grows with whatever else runs there.

Run it: ``python bench/views.py --reads 500 --changes 2000 --seconds 20``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from confluent_kafka import Producer
from ground import running

from headrace import ViewError
from headrace.log import COMPACTED, administer, create_topic, writer_settings
from headrace.services import Stack
from headrace.views import ViewClient

TOPIC = "bench.view.accounts"
PROGRESS = "headrace.bench.progress"
BATCHES_A_SECOND = 5
READERS = 4
FILE = """
from headrace import Pipeline, event, kafka


@event(key="id")
class Account:
    id: int
    cents: int
    note: str


bench = Pipeline("bench")
bench.view("accounts", bench.table(kafka("accounts", Account)))
"""


class Writer:
    """Writes batches as a lane does: rows and ledger record in one transaction."""

    def __init__(self, bootstrap: str) -> None:
        settings = writer_settings(bootstrap)
        self._producer = Producer({**settings, "transactional.id": "bench", "acks": -1})
        self._producer.init_transactions(30)
        self._batch = -1
        self._ends: dict[int, int] = {}

    def write(self, ids: list[int]) -> None:
        """Write a row for each id."""
        self._batch += 1
        stamp: list[tuple[str, str | bytes | None]] = [
            ("headrace.batch", f"bench:{self._batch}")
        ]
        self._producer.begin_transaction()
        for id_ in ids:
            row = {"id": id_, "cents": random.randrange(10**6), "note": "x" * 60}  # noqa: S311
            self._producer.produce(
                TOPIC, json.dumps(row), str(id_), headers=stamp, on_delivery=self._note
            )
            self._producer.poll(0)
        self._producer.flush()
        told = {
            "lineage": "bench",
            "batch": self._batch,
            "lanes": 1,
            "topics": {TOPIC: "id"},
            "ends": {TOPIC: self._ends},
        }
        key = "headrace.bench.main.0"
        self._producer.produce(PROGRESS, json.dumps(told), key, partition=0)
        self._producer.commit_transaction(30)

    def _note(self, error: object, message: object) -> None:
        if error is None:
            number, offset = message.partition(), message.offset()  # type: ignore[attr-defined]
            self._ends[number] = max(self._ends.get(number, 0), offset + 1)


def keep_writing(bootstrap: str, rows: int, changes: int) -> None:
    """Fill the view, then change it at a steady rate, until killed."""
    writer = Writer(bootstrap)
    for first in range(0, rows, 10_000):
        writer.write(list(range(first, min(first + 10_000, rows))))
    due = time.monotonic()
    while True:
        due += 1 / BATCHES_A_SECOND
        size = changes // BATCHES_A_SECOND
        writer.write([random.randrange(rows) for _ in range(size)])  # noqa: S311
        time.sleep(max(0.0, due - time.monotonic()))


def read(url: str, rows: int, rate: float, seconds: float, took: list[float]) -> None:
    """Ask at a steady rate, and note how long after it was due each answer came.

    With no rows to ask for, ask for the description of the view.
    """
    with ViewClient(url) as client:
        began = time.monotonic()
        number = 0
        while (due := began + number / rate) < began + seconds:
            time.sleep(max(0.0, due - time.monotonic()))
            if rows:
                answer = client.get("accounts", random.randrange(rows))  # noqa: S311
                assert answer.row is not None  # noqa: S101 - every id was written
            else:
                client.views()
            took.append(time.monotonic() - due)
            number += 1


def batch_of(url: str) -> int | None:
    """Give the batch that the server stands for, once it has one."""
    try:
        with ViewClient(url) as client:
            return client.get("accounts", 0).standing.batch
    except ViewError:
        return None


def wait_for_batch(url: str, batch: int) -> None:
    """Wait until the server stands for a batch."""
    give_up_at = time.monotonic() + 180
    while (batch_of(url) or -1) < batch:
        if time.monotonic() > give_up_at:
            sys.exit("the view was not filled within three minutes")
        time.sleep(0.2)


def measure(url: str, given: argparse.Namespace) -> None:
    """Read while the view changes, and print how long it took."""
    wait_for_batch(url, (given.rows - 1) // 10_000 + 5)
    before = batch_of(url) or 0
    took: list[list[float]] = [[] for _ in range(READERS + 1)]
    rate = given.reads / READERS
    readers = [
        threading.Thread(
            target=read,
            args=(url, given.rows * (n < READERS), rate, given.seconds, took[n]),
        )
        for n in range(READERS + 1)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    batches = (batch_of(url) or 0) - before
    every = sorted(one for some in took[:READERS] for one in some)
    plain = sorted(took[READERS])
    print(
        f"{len(every):,} reads at {given.reads}/s of {given.rows:,} rows, "
        f"while {batches} batches of {given.changes // BATCHES_A_SECOND} came in"
    )
    for share in (0.5, 0.95, 0.99, 0.999):
        told = (f"{some[int(len(some) * share)] * 1000:.1f}" for some in (every, plain))
        print("P{:g}: {} ms, without a row {} ms".format(share * 100, *told))


def run(stack: Stack, home: Path, given: argparse.Namespace) -> None:
    """Start writer and server, measure, and end both."""
    bootstrap = stack.address("kafka")
    admin = administer(bootstrap, stack.site().run.cluster_id)
    create_topic(admin, TOPIC, partitions=3, config=COMPACTED)
    create_topic(admin, PROGRESS, partitions=1, config={"cleanup.policy": "compact"})
    file = home / "bench.py"
    file.write_text(FILE)
    port = 20_000 + os.getpid() % 10_000
    headrace = Path(sys.executable).parent / "headrace"
    command = [str(headrace), "view", "serve", str(file)]
    where = ["--bootstrap", bootstrap, "--store", str(home / "views")]
    server = subprocess.Popen([*command, *where, "--port", str(port)])
    spawn = multiprocessing.get_context("spawn")
    writer = spawn.Process(
        target=keep_writing, args=(bootstrap, given.rows, given.changes)
    )
    writer.start()
    try:
        measure(f"http://127.0.0.1:{port}", given)
    finally:
        writer.kill()
        writer.join()
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def main() -> None:
    """Start a broker, measure, stop it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reads", type=int, default=500)
    parser.add_argument("--changes", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20)
    given = parser.parse_args()
    with running("kafka") as (stack, home):
        run(stack, home, given)


if __name__ == "__main__":
    main()
