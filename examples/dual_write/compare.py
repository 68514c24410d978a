"""Two ways to tell others about a change, and what is left when one dies in between.

The naive application writes to its database and then to Kafka. It is killed between
the two and started again: the database has an order that the log will never have. The
other writes to its database alone and is killed at the same place; the log, fed by
change data capture, ends with the same orders.

Run it: ``python examples/dual_write/compare.py``. It starts Kafka, PostgreSQL and
Kafka Connect in the project's run directory, and leaves them running.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from naive import TOPIC

from headrace.log import Reading, administer, create_topic
from headrace.services import Stack

DATABASE = "dual-write"
CAPTURED = f"{DATABASE}.public.captured"
HERE = Path(__file__).parent


def headrace(*arguments: str, stack: Stack) -> None:
    """Run a command as a user does."""
    command = Path(sys.executable).parent / "headrace"
    where = ("--dir", str(stack.run_directory.path))
    subprocess.run([command, *arguments, *where], check=True)


def url_of(stack: Stack) -> str:
    """Give the address of the example's database."""
    server = urlsplit(stack.address("postgres"))
    return urlunsplit(server._replace(path=f"/{DATABASE}"))


def prepare(stack: Stack) -> None:
    """Begin with empty tables and topics, one of each for each way."""
    with psycopg.connect(stack.address("postgres"), autocommit=True) as server:
        server.execute(f'drop database if exists "{DATABASE}" with (force)')
        server.execute(f'create database "{DATABASE}"')
    with psycopg.connect(url_of(stack), autocommit=True) as shop:
        for table in ("naive", "captured"):
            shop.execute(f"create table {table} (id int primary key, item text)")
    create_topic(administer(stack.address("kafka"), None), TOPIC, partitions=1)
    headrace("cdc", "add", DATABASE, "--tables", "public.captured", stack=stack)


def place_orders(program: str, *arguments: str, orders: int, die_at: int) -> None:
    """Let an application die at an order, and start it again."""
    script = str(HERE / program)
    command = [sys.executable, script, *arguments, "--orders", str(orders)]
    died = subprocess.run([*command, "--die-at", str(die_at)], check=False)
    if died.returncode != -signal.SIGKILL:
        raise SystemExit(f"{program} ended with {died.returncode}")
    subprocess.run(command, check=True)


def in_table(stack: Stack, table: str) -> set[int]:
    """Give the orders that the database has."""
    with psycopg.connect(url_of(stack)) as shop:
        return {row[0] for row in shop.execute(f"table {table}".encode())}


def in_topic(stack: Stack, topic: str) -> set[int]:
    """Give the orders that the log has."""
    bootstrap = stack.address("kafka")
    found = set()
    for batch in Reading(administer(bootstrap, None), bootstrap, topic):
        for event in batch:
            value = json.loads(event.value or b"{}")
            order = value.get("after") or value
            found.add(int(order["id"]))
    return found


def main() -> None:
    """Run both, and show what each has lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, help="the run directory")
    parser.add_argument("--orders", type=int, default=20)
    parser.add_argument("--die-at", type=int, default=7)
    given = parser.parse_args()
    stack = Stack(given.dir)
    stack.up(["kafka", "postgres", "connect"])
    prepare(stack)
    url, size = url_of(stack), {"orders": given.orders, "die_at": given.die_at}
    place_orders("naive.py", url, stack.address("kafka"), **size)
    place_orders("captured.py", url, **size)
    deadline = time.monotonic() + 60
    while len(in_topic(stack, CAPTURED)) < given.orders and time.monotonic() < deadline:
        time.sleep(0.2)
    for table, topic in (("naive", TOPIC), ("captured", CAPTURED)):
        orders, told = in_table(stack, table), in_topic(stack, topic)
        lost = sorted(orders - told)
        print(f"{table}: {len(orders)} orders, {len(told)} in the log, lost: {lost}")
    headrace("cdc", "remove", DATABASE, "--yes", "--topics", stack=stack)


if __name__ == "__main__":
    main()
