"""A table of PostgreSQL into Redis, OpenSearch and Delta, beside plain Debezium.

First the rows that are there: how long the connector takes to bring them into Kafka,
and how long a pipeline takes from there into Redis and Delta. Then so many changes a
second for a while: how old a change is when the log has it, which is all that plain
Debezium does, and when each sink has it. The pipelines' own metrics tell the latter,
weighed by the changes of each batch, once the code is warm: for the first minutes of
its life a JVM compiles what it runs, which on two cores is half of all they do. Redis
and OpenSearch are kept by one pipeline, as fast as it can, and the lake by another
beside it, twice a minute: each of its commits rewrites files, and nobody should wait
for that.

Run it: ``python bench/captures.py --rows 1000000 --changes 500``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import psycopg
from ground import running

from headrace import Pipeline, cdc, event, sinks
from headrace._spark import end, session
from headrace.artifacts import spark_groups
from headrace.cdc.lag import hop_lag, lag_of
from headrace.cdc.place import Capture
from headrace.log import administer, client_settings
from headrace.runtime.progress import BatchProgress
from headrace.runtime.run import Conditions, follow, start
from headrace.runtime.topics import make_missing_topics
from headrace.services import Stack
from headrace.services.addresses import Addresses
from headrace.settings import load_settings
from headrace.sinks import Sink

ACCOUNTS = "public.accounts"
SERVERS = ["kafka", "postgres", "connect", "redis", "opensearch"]
MOST_PER_BATCH = 250_000
LAKE_EVERY = timedelta(seconds=30)
FILL = """
create table accounts (id bigint primary key, owner text, cents bigint);
insert into accounts
select n, 'owner ' || n, n % 99991 from generate_series(1, {rows}) as n
"""


@event(key="id")
class Account:
    """A row."""

    id: int
    owner: str
    cents: int


def copies(name: str, lake: Path, *kept: str) -> Pipeline:
    """Keep the table in the sinks of these names."""
    made = Pipeline(name)
    accounts = made.table(cdc.postgres("bank", ACCOUNTS, Account))
    ways: dict[str, Callable[[], Sink]] = {
        "redis": lambda: sinks.redis(name),
        "opensearch": lambda: sinks.opensearch(name),
        "delta": lambda: sinks.delta(str(lake / name), mode="merge"),
    }
    for sink in kept:
        made.write(sink, accounts, ways[sink]())
    return made


class Bench:
    """The servers, a database, and a Spark session."""

    def __init__(self, home: Path, stack: Stack) -> None:
        self.home, self.stack = home, stack
        self.addresses = Addresses(load_settings(), stack)
        self.bootstrap = stack.address("kafka")
        self.url = self.addresses.database("bank")
        self.spark = session(
            "bench",
            config={"spark.driver.memory": "3g"},
            groups=[g for g in spark_groups() if g != "spark-kafka"],
        )

    def snapshot(self, rows: int) -> float:
        """Fill the table and have it captured; give the seconds of the latter."""
        with psycopg.connect(
            self.addresses.database("postgres"), autocommit=True
        ) as server:
            server.execute("create database bank")
        with psycopg.connect(self.url) as bank:
            bank.execute(FILL.format(rows=rows))
        began = time.monotonic()
        headrace = str(Path(sys.executable).with_name("headrace"))
        command = [headrace, "cdc", "add", "bank"]
        where = ["--tables", ACCOUNTS, "--dir", str(self.stack.run_directory.path)]
        subprocess.run([*command, *where], check=True)
        return time.monotonic() - began

    def run(
        self,
        pipeline: Pipeline,
        tell: Callable[[BatchProgress], None],
        enough: Event | None = None,
        every: timedelta | None = None,
    ) -> float:
        """Run a pipeline to the end of its input, or until it is enough."""
        make_missing_topics(administer(self.bootstrap, None), pipeline)
        began = time.monotonic()
        conditions = Conditions(
            self.bootstrap,
            str(self.home / f"checkpoint-{pipeline.name}"),
            until_caught_up=enough is None,
            every=every,
            most_per_batch=MOST_PER_BATCH,
            servers=self.addresses,
        )
        query = start(pipeline, self.spark, conditions)
        follow(query, tell, enough or Event(), outputs=pipeline.outputs)
        return time.monotonic() - began

    def change(self, rate: int, seconds: int, rows: int, enough: Event) -> None:
        """Change rows at a steady rate, each in a transaction of its own."""
        began = time.monotonic()
        with psycopg.connect(self.url, autocommit=True) as bank:
            for number in range(rate * seconds):
                bank.execute(
                    "update accounts set cents = cents + 1 where id = %s",
                    (number * 7919 % rows + 1,),
                    prepare=True,
                )
                ahead = number / rate - (time.monotonic() - began)
                if ahead > 0:
                    time.sleep(ahead)
        took = time.monotonic() - began
        print(f"{rate * seconds / took:,.0f} changes/s for {took:.0f} s", flush=True)
        enough.wait(5)
        enough.set()


class Passages:
    """How long changes took to each sink, batch by batch, once the code is warm."""

    def __init__(self, warm_up: int) -> None:
        self.seen: dict[str, list[dict[str, int]]] = {}
        self._warm_at = time.monotonic() + warm_up

    def tell(self, progress: BatchProgress) -> None:
        """Note a batch."""
        if time.monotonic() < self._warm_at:
            return
        for outputs in progress.propagation.values():
            for name, took in outputs.items():
                self.seen.setdefault(name, []).append(took)

    def show(self) -> None:
        """Give each percentile over all batches: that of the batch's own, weighed."""
        for name, batches in self.seen.items():
            told = []
            for percent in (50, 95, 99):
                each = [
                    took[f"commit_p{percent}"]
                    for took in batches
                    for _ in range(took["changes"])
                ]
                lag = hop_lag(name, each)
                told.append(f"P{percent} {getattr(lag, f'p{percent}'):,.0f} ms")
            count = sum(took["changes"] for took in batches)
            print(f"commit to {name}: {', '.join(told)}, {count:,} changes", flush=True)


def measure(home: Path, stack: Stack, given: argparse.Namespace) -> None:
    """Bring the rows over, then the changes."""
    bench = Bench(home, stack)
    into_log = bench.snapshot(given.rows)
    print(
        f"plain Debezium into Kafka: {given.rows:,} rows in {into_log:.1f} s, "
        f"{given.rows / into_log:,.0f} rows/s",
        flush=True,
    )
    lake = home / "lake"
    took = bench.run(copies("first", lake, "redis", "delta"), lambda _: None)
    print(
        f"from there into Redis and Delta: {took:.1f} s, {given.rows / took:,.0f} "
        f"rows/s; {took / into_log:.2f} of the time of plain Debezium",
        flush=True,
    )
    hot, slow = (
        copies("hot", lake, "redis", "opensearch"),
        copies("slow", lake, "delta"),
    )
    for made in (hot, slow):
        bench.run(made, lambda _: None)
    passages, enough = Passages(given.warm_up), Event()
    terms = (given.changes, given.warm_up + given.seconds, given.rows, enough)
    beside = [
        Thread(target=bench.change, args=terms),
        Thread(target=bench.run, args=(slow, passages.tell, enough, LAKE_EVERY)),
    ]
    for thread in beside:
        thread.start()
    bench.run(hot, passages.tell, enough)
    for thread in beside:
        thread.join()
    addresses = bench.addresses
    kafka = client_settings(bench.bootstrap)
    bank = Capture("bank", bench.url, addresses.connect(), kafka)
    for hop in lag_of(bank, ACCOUNTS, given.changes * given.seconds):
        print(
            f"plain Debezium, {hop.hop}: P50 {hop.p50:,.0f} ms, P95 {hop.p95:,.0f} ms, "
            f"P99 {hop.p99:,.0f} ms, {hop.changes:,} changes"
        )
    passages.show()
    end(bench.spark)


def main() -> None:
    """Start the servers and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--changes", type=int, default=500, help="in a second")
    parser.add_argument("--warm-up", type=int, default=120, help="seconds before")
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    with running(*SERVERS) as (stack, home):
        measure(home, stack, given)


if __name__ == "__main__":
    main()
