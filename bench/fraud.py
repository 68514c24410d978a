"""The whole fraud system: how fast alerts come, and how much traffic it bears.

All six servers, the pipeline and the sender share the machine. After a warm-up, traffic
comes at one rate after another; for each it is told how long a transaction took to its
alert, and how many transactions the pipeline was behind in each fifth of the time, on
average. Lag that is the same in all of them is lag that stays. The memory is that of
all servers and of the driver with its JVM, at its largest; what processes share counts
once.

Run it: ``python bench/fraud.py --rates 1000 5000 7000:900``.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TextIO

import psutil
from ground import running

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "fraud"))

from alerting import Alerts
from bank import PARTITIONS, SERVERS, TOPIC, Bank
from driving import Driver
from people import Change, Person
from recorded import Player, Recording
from sending import CLOSING
from traffic import Traffic
from transactions import Transaction

from headrace.services import SERVICES, Stack

SEED, NOON = 1, 12
CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "2g",
    # A million cards and the ids of ten minutes are more than half a gigabyte holds.
    "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB": "1024",
    # For a snapshot a store writes all it has in memory to disk, and a batch waits for
    # it; but Spark takes only one in a minute away, whatever there is.
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "30",
    # To count the rows of its state, Spark reads each before it writes it.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
}
CATCH_UP_SECONDS = 300.0
# To count the pages of all processes takes some of the time that is measured.
LOOK_SECONDS = 5.0
A_MOMENT = timedelta(seconds=1)


class Paced(NamedTuple):
    """How much traffic, and for how long."""

    rate: int
    seconds: int = 60

    @classmethod
    def read(cls, text: str) -> Paced:
        """Read it as a command line has it."""
        return cls(*map(int, text.split(":")))


class Phase:
    """Traffic at one rate, whose transactions are no other phase's."""

    changes: Sequence[Change] = ()

    def __init__(self, name: str, rate: float, seconds: float) -> None:
        self.name = name
        # A recording has no time of its own; any will do.
        self.start = datetime.now(UTC)
        self._traffic = Traffic(SEED, rate, seconds, self.start, hour=NOON)
        self.crowd = self._traffic.crowd

    def arrivals(self) -> Iterator[tuple[int, Transaction]]:
        """Give the transactions as they arrive."""
        for arrival_ms, made in self._traffic.arrivals():
            identity = f"{self.name}-{made.transaction_id}"
            card = f"{self.name}-{made.card}"
            yield arrival_ms, replace(made, transaction_id=identity, card=card)


class Bench:
    """The bank, its pipeline, and what is measured of both."""

    def __init__(
        self, stack: Stack, home: Path, crowd: list[Person], traced: TextIO | None
    ) -> None:
        self._stack, self._home = stack, home
        self._bank = Bank(stack)
        self._schema_id = self._bank.open(crowd)
        lake = {"FRAUD_LAKE": str(home / "lake")}
        self._driver = Driver(stack.run_directory.path, home, lake, conf=CONF)
        self._alerts = Alerts(stack.address("kafka"))
        self._sent = 0
        self._traced = traced
        self._traced_batch: int | None = None
        self.most_memory = 0

    def __enter__(self) -> Bench:
        self._driver.start()
        self._alerts.start()
        # Its first batch reads all profiles.
        self._driver.first_batch.wait()
        return self

    def __exit__(self, *_error: object) -> None:
        self._driver.stop()
        self._alerts.close()

    def record(self, phase: Phase) -> Recording:
        """Make the traffic of a phase, to be sent later."""
        path = self._home / f"{phase.name}.recorded"
        return Recording(path, phase, self._schema_id)

    def run(self, name: str, recording: Recording) -> str:
        """Send what was recorded; say how it went."""
        sender = Player(self._bank, recording, datetime.now(UTC) + A_MOMENT)
        before = len(self._alerts.delays)
        sending = threading.Thread(target=sender.run)
        sending.start()
        time.sleep(A_MOMENT.total_seconds())
        began = time.monotonic()
        lags: list[int] = []
        looked = -LOOK_SECONDS
        while sending.is_alive():
            if time.monotonic() - began > looked + LOOK_SECONDS:
                looked = time.monotonic() - began
                self._look()
            lags.append(self._lag(sender))
            self._trace(name, lags[-1])
            sending.join(0.5)
        took = time.monotonic() - began
        if sender.refused:
            return f"{name}: the log has refused {sender.refused:,}"
        self._sent += sender.sent + PARTITIONS
        ended = time.monotonic()
        while self._done() < self._sent:
            if time.monotonic() > ended + CATCH_UP_SECONDS:
                return f"{name}: has not caught up"
            time.sleep(0.1)
        caught_up = time.monotonic() - ended
        # The last records of a phase are of a time that is yet to come.
        time.sleep(CLOSING.total_seconds() + 1)
        delays = sorted(self._alerts.delays[before:])
        half, most = (
            (delays[len(delays) // 2], delays[int(len(delays) * 0.99)])
            if delays
            else (0.0, 0.0)
        )
        return (
            f"{name}: {sender.sent / took:,.0f} transactions/s for {took:.0f} s; "
            f"behind by {in_fifths(lags)}, by none {caught_up:.1f} s later; "
            f"to the alert: P50 {half:.2f} s, P99 {most:.2f} s of {len(delays):,}; "
            f"the last batch, in ms: {self._driver.latest.get('phases_ms')}"
        )

    def _trace(self, name: str, lag: int) -> None:
        batch = self._driver.latest
        if self._traced is not None and batch.get("batch") != self._traced_batch:
            self._traced_batch = batch.get("batch")
            self._traced.write(
                json.dumps({**batch, "phase": name, "behind": lag}) + "\n"
            )
            self._traced.flush()

    def _done(self) -> int:
        offsets = self._driver.latest.get("offsets", {}).get(TOPIC, {})
        return sum(offsets.values())

    def _lag(self, sender: Player) -> int:
        return self._sent + sender.acknowledged - self._done()

    def _look(self) -> None:
        site = self._stack.site()
        names = (n for s in SERVERS for n in SERVICES[s].process_names(site.brokers))
        kept = sum(site.process(name).memory() for name in names)
        # Of the driver's family some live for a moment only.
        with suppress(psutil.NoSuchProcess):
            driver = psutil.Process(self._driver.pid)
            for member in (driver, *driver.children(recursive=True)):
                kept += member.memory_full_info().pss
        self.most_memory = max(self.most_memory, kept)


def in_fifths(lags: Sequence[int]) -> str:
    """Give the average of each fifth of what was seen."""
    bounds = [len(lags) * n // 5 for n in range(6)]
    parts = (lags[begin:end] for begin, end in pairwise(bounds))
    return ", ".join(f"{sum(part) / max(1, len(part)):,.0f}" for part in parts)


def main() -> None:
    """Warm up, then measure each rate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--rates",
        type=Paced.read,
        nargs="+",
        default=[Paced(1000), Paced(2500), Paced(5000)],
        help="in a second; 7000:900 is for 900 seconds",
    )
    parser.add_argument("--warm-up", type=int, default=90)
    parser.add_argument("--warm-up-rate", type=int, default=500)
    parser.add_argument("--trace", type=Path, help="write what each batch tells here")
    given = parser.parse_args()
    phases = [Phase("warm-up", given.warm_up_rate, given.warm_up)]
    phases += [Phase(f"at-{each.rate}", *each) for each in given.rates]
    with (
        nullcontext() if given.trace is None else given.trace.open("w") as traced,
        running(*SERVERS) as (stack, home),
    ):
        # Smaller crowds are the first people of larger ones.
        crowd = max((phase.crowd for phase in phases), key=len)
        bench = Bench(stack, home, crowd, traced)
        recordings = {phase.name: bench.record(phase) for phase in phases}
        del phases, crowd
        with bench:
            for name, recording in recordings.items():
                print(bench.run(name, recording), flush=True)
        print(f"memory: at most {bench.most_memory / 2**30:.2f} GiB in all")


if __name__ == "__main__":
    main()
