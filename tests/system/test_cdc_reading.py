"""Tables that are added to a capture are read whole, whatever happens meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import psycopg
import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from headrace.cdc import captures
from headrace.cdc.watching import check
from headrace.cdc.wishes import Wish
from support.harness.capturing import USERS, Bank, kill
from support.harness.waiting import wait_until

CARDS = "public.cards"


@pytest.fixture
def bank(bank: Bank) -> Bank:
    """Give a bank whose users are captured; it has cards, too."""
    bank.make()
    bank.make(CARDS, rows=2500)
    bank.add()
    return bank


@contextmanager
def changing(bank: Bank) -> Iterator[None]:
    """Change all tables without a pause."""
    ended = Event()

    def work() -> None:
        with psycopg.connect(bank.capture.url, autocommit=True) as other:
            for number in range(100_000):
                if ended.is_set():
                    return
                row = number % 2500 + 1
                other.execute("update cards set v = %s where id = %s", (number, row))
                other.execute("delete from cards where id = %s", (row // 2 + 1,))
                other.execute("insert into users values (%s, 'x')", (number + 10,))

    worker = Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        ended.set()
        worker.join()


def add_cards(bank: Bank, **heard: Callable[[], object]) -> list[str]:
    """Add the cards, and do something when news with a word in them is heard."""
    told: list[str] = []

    def tell(news: str) -> None:
        told.append(news)
        for word, act in heard.items():
            if word in news:
                act()

    captures.add(bank.capture, Wish((CARDS,)), None, tell)
    return told


def take_records_up_to(bank: Bank, size: int) -> None:
    """Let the topic of the cards refuse larger records."""
    how = AlterConfigOpType.SET
    limit = ConfigEntry("max.message.bytes", str(size), incremental_operation=how)
    topic = bank.capture.topic(CARDS)
    changed = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[limit])
    admin = AdminClient(dict(bank.capture.kafka))
    admin.incremental_alter_configs([changed])[changed].result(30)


def test_further_tables_are_read_while_all_of_them_change(bank: Bank) -> None:
    with changing(bank):
        told = bank.add(USERS, CARDS)

    assert told[-1].startswith("public.cards done")
    bank.await_equal(CARDS)
    bank.await_equal(USERS)
    check(bank.capture)


def test_what_was_written_before_its_table_was_published_is_read_too(
    bank: Bank,
) -> None:
    with psycopg.connect(bank.capture.url) as writer:
        writer.execute("insert into cards values (9999, 'early')")
        told = add_cards(bank, transactions=writer.commit)

    assert "waiting for transactions that have begun to write" in told
    bank.await_equal(CARDS)


def test_a_table_that_the_database_did_not_give_is_asked_for_again(
    bank: Bank,
) -> None:
    bank.run(f"alter role {bank.capture.slot} set lock_timeout = '200ms'")
    with psycopg.connect(bank.capture.url) as locker:
        told = add_cards(
            bank,
            reading=lambda: locker.execute("lock table cards in access exclusive mode"),
            again=locker.rollback,
        )

    # The connector gives the table up or fails over it, as it comes.
    assert [news for news in told if news.endswith("; starting it again (1 of 5)")]
    assert told[-1] == "public.cards done (2500 rows)"
    bank.await_equal(CARDS)
    check(bank.capture)


@pytest.mark.long
def test_a_connector_that_fails_while_it_reads_is_started_again(bank: Bank) -> None:
    bank.run("insert into cards values (1000000, repeat('x', 5000))")
    with changing(bank):
        told = add_cards(
            bank,
            reading=lambda: take_records_up_to(bank, 2_000),
            again=lambda: take_records_up_to(bank, 1_000_000),
        )

    assert [news for news in told if news.startswith("the connector has failed: ")]
    bank.await_equal(CARDS)
    bank.await_equal(USERS)
    check(bank.capture)


@pytest.mark.long
def test_a_worker_that_is_killed_while_it_reads_goes_on(bank: Bank) -> None:
    bank.run("insert into cards select i, 'more' from generate_series(3000, 30000) i")
    told: list[str] = []
    with changing(bank):
        adding = Thread(target=lambda: told.extend(add_cards(bank)))
        adding.start()
        wait_until(
            "some cards are read",
            lambda: 4000 in bank.logged(CARDS),
            seconds=120,
            step=0.2,
        )
        kill(bank.stack, "connect")
        bank.run("delete from cards where id between 3500 and 4500")
        bank.stack.up(["connect"])
        adding.join()

    assert told[-1].startswith("public.cards done")
    bank.await_equal(CARDS, seconds=180)
    bank.await_equal(USERS, seconds=180)
    check(bank.capture)
