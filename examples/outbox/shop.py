"""A shop whose orders and events never part: an outbox, captured.

Orders are placed with psycopg and with SQLAlchemy. Two of them fail half-way: neither
the order nor its event is there. All the others are on the topic, once each.

Run it: ``python examples/outbox/shop.py``. It starts Kafka, PostgreSQL and Kafka
Connect in the project's run directory, and leaves them running.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import orders_psycopg
import orders_sqlalchemy
import psycopg
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from headrace.log import EARLIEST, Reading, Span, administer
from headrace.services import Stack

DATABASE = "shop"
TOPIC = f"{DATABASE}.outbox.order"
TABLE = "create table orders (id int primary key, item text, price numeric(12, 2))"


def headrace(*arguments: str, stack: Stack) -> None:
    """Run a command as a user does."""
    command = Path(sys.executable).parent / "headrace"
    where = ("--dir", str(stack.run_directory.path))
    subprocess.run([command, *arguments, *where], check=True)


def url_of(stack: Stack, scheme: str = "postgresql") -> str:
    """Give the address of the shop's database."""
    server = urlsplit(stack.address("postgres"))
    return urlunsplit(server._replace(scheme=scheme, path=f"/{DATABASE}"))


def make_database(stack: Stack) -> None:
    """Begin with a database that has no orders."""
    with psycopg.connect(stack.address("postgres"), autocommit=True) as server:
        server.execute(f"drop database if exists {DATABASE} with (force)")
        server.execute(f"create database {DATABASE}")
    with psycopg.connect(url_of(stack), autocommit=True) as shop:
        shop.execute(TABLE)


def take_orders(stack: Stack, count: int) -> None:
    """Place orders in both ways, some of which fail half-way."""
    price = Decimal("12.10")
    with psycopg.connect(url_of(stack)) as shop:
        for number in range(count):
            orders_psycopg.place_order(shop, number, "tea", price)
        with suppress(psycopg.errors.UniqueViolation):
            orders_psycopg.place_order(shop, 0, "the same again", price)
    engine = create_engine(url_of(stack, "postgresql+psycopg"))
    with Session(engine) as session:
        for number in range(count, 2 * count):
            orders_sqlalchemy.place_order(session, number, "coffee", price)
            session.commit()
        orders_sqlalchemy.place_order(session, 2 * count, "regretted", price)
        session.rollback()
    engine.dispose()


def events(stack: Stack, count: int) -> list[tuple[str, str]]:
    """Wait for so many events, and give all there are: key and value."""
    bootstrap = stack.address("kafka")
    admin = administer(bootstrap, None)
    deadline = time.monotonic() + 60
    found: list[tuple[str, str]] = []
    for batch in Reading(admin, bootstrap, TOPIC, Span(EARLIEST, follow=True)):
        found += [((e.key or b"").decode(), (e.value or b"").decode()) for e in batch]
        if (len(found) >= count and not batch) or time.monotonic() > deadline:
            break
    return found


def main() -> None:
    """Take orders, and show what has arrived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, help="the run directory")
    parser.add_argument("--orders", type=int, default=5, help="of each way")
    given = parser.parse_args()
    stack = Stack(given.dir)
    stack.up(["kafka", "postgres", "connect"])
    make_database(stack)
    headrace("cdc", "outbox", DATABASE, stack=stack)
    take_orders(stack, given.orders)
    for key, value in events(stack, 2 * given.orders):
        print(key, value)
    headrace("cdc", "remove", f"{DATABASE}-outbox", "--yes", stack=stack)


if __name__ == "__main__":
    main()
