"""The whole fraud system: how fast alerts come, and how much traffic it bears.

All six servers, the pipeline and the sender share the machine. After a warm-up, traffic
comes at one rate after another; for each it is told how long a transaction took to its
alert, and how many transactions the pipeline was behind half-way and at the end. A lag
that is the same at both is one that stays. The memory is that of all servers and of the
driver with its JVM, at its largest; what processes share counts once.

Run it: ``python bench/fraud.py --rates 1000 2500 5000 10000``.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
from ground import running

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "fraud"))

from alerting import Alerts
from bank import SERVERS, TOPIC, Bank
from driving import Driver
from people import Change
from sending import CLOSING, Sender
from traffic import Traffic
from transactions import Transaction

from headrace.services import SERVICES, Stack

SEED, NOON = 1, 12
CONF = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "2g",
    # To count the rows of its state, Spark reads each before it writes it.
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
}
CATCH_UP_SECONDS = 300.0
# To count the pages of all processes takes some of the time that is measured.
LOOK_SECONDS = 5.0


class Phase:
    """Traffic at one rate, whose transactions are no other phase's."""

    def __init__(self, name: str, rate: float, seconds: float) -> None:
        # People are made first, the more the higher the rate.
        self.start = datetime.now(UTC) + timedelta(seconds=3 + rate / 1000)
        self.changes: list[Change] = []
        self._name = name
        self._traffic = Traffic(SEED, rate, seconds, self.start, hour=NOON)
        self.crowd = self._traffic.crowd

    def arrivals(self) -> Iterator[tuple[int, Transaction]]:
        """Give the transactions as they arrive."""
        for arrival_ms, made in self._traffic.arrivals():
            identity = f"{self._name}-{made.transaction_id}"
            card = f"{self._name}-{made.card}"
            yield arrival_ms, replace(made, transaction_id=identity, card=card)


class Bench:
    """The bank, its pipeline, and what is measured of both."""

    def __init__(self, stack: Stack, home: Path, rate: float, seconds: float) -> None:
        self._stack = stack
        self._bank = Bank(stack)
        # Smaller crowds are the first people of larger ones.
        self._schema_id = self._bank.open(Phase("most", rate, seconds).crowd)
        lake = {"FRAUD_LAKE": str(home / "lake")}
        self._driver = Driver(stack.run_directory.path, home, lake, conf=CONF)
        self._alerts = Alerts(stack.address("kafka"))
        self._sent = 0
        self.most_memory = 0

    def __enter__(self) -> Bench:
        self._driver.start()
        self._alerts.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._driver.stop()
        self._alerts.close()

    def run(self, name: str, rate: float, seconds: float) -> str:
        """Send at a rate; say how it went."""
        phase = Phase(name, rate, seconds)
        sender = Sender(self._bank, phase, self._schema_id)
        before = len(self._alerts.delays)
        sending = threading.Thread(target=sender.run)
        sending.start()
        time.sleep(max(0.0, (phase.start - datetime.now(UTC)).total_seconds()))
        began = time.monotonic()
        half_way, looked = 0, -LOOK_SECONDS
        while sending.is_alive():
            if time.monotonic() - began > looked + LOOK_SECONDS:
                looked = time.monotonic() - began
                self._look()
            if not half_way and time.monotonic() - began > seconds / 2:
                half_way = self._lag(sender)
            sending.join(0.5)
        lag = self._lag(sender)
        took = time.monotonic() - began
        self._sent += sender.acknowledged + 2
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
            f"behind by {half_way:,} half-way, by {lag:,} at the end, by none "
            f"{caught_up:.1f} s later; to the alert: P50 {half:.2f} s, "
            f"P99 {most:.2f} s of {len(delays):,}; the last batch, in ms: "
            f"{self._driver.latest.get('phases_ms')}"
        )

    def _done(self) -> int:
        offsets = self._driver.latest.get("offsets", {}).get(TOPIC, {})
        return sum(offsets.values())

    def _lag(self, sender: Sender) -> int:
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


def main() -> None:
    """Warm up, then measure each rate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rates", type=int, nargs="+", default=[1000, 2500, 5000])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--warm-up", type=int, default=90)
    parser.add_argument("--warm-up-rate", type=int, default=500)
    given = parser.parse_args()
    longest = max(given.seconds, given.warm_up)
    with (
        running(*SERVERS) as (stack, home),
        Bench(stack, home, max(given.rates), longest) as bench,
    ):
        print(bench.run("warm-up", given.warm_up_rate, given.warm_up), flush=True)
        for rate in given.rates:
            print(bench.run(f"at-{rate}", rate, given.seconds), flush=True)
        print(f"memory: at most {bench.most_memory / 2**30:.2f} GiB in all")


if __name__ == "__main__":
    main()
