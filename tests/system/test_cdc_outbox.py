"""An event and the change it tells of arrive together, or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from headrace import CaptureError
from headrace.cdc import captures
from headrace.cdc.outbox import OutboxEvent, purge, put
from headrace.cdc.outbox_capture import add_outbox, outbox_of, outbox_topic
from headrace.cdc.topics import ends_of
from headrace.cdc.watching import check, problems
from headrace.cdc.wishes import Wish
from support.harness.capturing import Bank
from support.harness.messages import headers_of, key_of, value_of
from support.harness.waiting import wait_until


@pytest.fixture
def shop(bank: Bank) -> Iterator[Bank]:
    """Give a database whose outbox is captured."""
    bank.run("create table orders (id int primary key)")
    ours = outbox_of(bank.capture)
    login = bank.login(ours.slot)
    add_outbox(bank.capture, Wish(("public.outbox",), partitions=2), login)
    yield bank
    captures.remove(ours)


def placed(number: int, **more: Any) -> OutboxEvent:
    return OutboxEvent("order", str(number), "OrderPlaced", {"id": number, **more})


def place(bank: Bank, number: int, **options: Any) -> OutboxEvent:
    event = placed(number)
    with bank.db.transaction():
        bank.run("insert into orders values (%s)", number)
        put(bank.db, event, **options)
    return event


def arrived(bank: Bank) -> list[tuple[str, str, dict[str, str]]]:
    """Give key, value and headers of each event in the orders' topic."""
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415

    topic = outbox_topic(bank.name, "order")
    ends = ends_of(bank.capture.kafka, topic)
    consumer = Consumer(
        {**bank.capture.kafka, "group.id": "x", "isolation.level": "read_committed"}
    )
    found = []
    try:
        places = [TopicPartition(topic, number, 0) for number in ends]
        consumer.assign(places)
        # A partition of which nothing was read has a position below zero.
        while any(
            max(p.offset, 0) < ends[p.partition] for p in consumer.position(places)
        ):
            for message in consumer.consume(100, 0.2):
                headers = headers_of(message)
                text = value_of(message).decode()
                found.append((key_of(message).decode(), text, headers))
    finally:
        consumer.close()
    return found


def await_events(bank: Bank, count: int) -> list[tuple[str, str, dict[str, str]]]:
    def enough() -> list[tuple[str, str, dict[str, str]]]:
        found = arrived(bank)
        return found if len(found) >= count else []

    return wait_until(f"{count} events", enough, seconds=60, step=0.5)


def test_an_event_arrives_with_key_type_and_id(shop: Bank) -> None:
    event = place(shop, 7)
    ((key, value, headers),) = await_events(shop, 1)

    assert (key, json.loads(value)) == ("7", {"id": 7})
    assert headers["id"] == str(event.id)
    assert headers["type"] == "OrderPlaced"
    assert headers["at"].startswith("20")


def test_a_payload_keeps_its_digits(shop: Bank) -> None:
    with shop.db.transaction():
        put(shop.db, placed(1, total=12345678901234567890))
        shop.run(
            "insert into outbox (id, aggregate_type, aggregate_id, type, payload) "
            "values (gen_random_uuid(), 'order', '2', 'OrderPlaced', '{\"t\": 12.10}')"
        )
    values = sorted(value for _, value, _ in await_events(shop, 2))

    assert values == ['{"id": 1, "total": 12345678901234567890}', '{"t": 12.10}']


def test_a_change_that_fails_takes_its_event_along(shop: Bank) -> None:
    place(shop, 1)
    with pytest.raises(psycopg.errors.UniqueViolation):
        place(shop, 1)
    place(shop, 2)

    assert sorted(key for key, _, _ in await_events(shop, 2)) == ["1", "2"]


def test_rows_that_are_deleted_at_once_arrive_all_the_same(shop: Bank) -> None:
    place(shop, 1, keep=False)
    place(shop, 2, keep=True)

    assert sorted(key for key, _, _ in await_events(shop, 2)) == ["1", "2"]
    assert shop.run("select aggregate_id from outbox") == [("2",)]
    assert purge(shop.db, timedelta(0)) == 1
    place(shop, 3)
    assert len(await_events(shop, 3)) == 3
    check(outbox_of(shop.capture))


def test_kept_rows_come_again_after_a_gap(shop: Bank) -> None:
    ours = outbox_of(shop.capture)
    first = place(shop, 1)
    await_events(shop, 1)
    shop.cluster.stop(ours.connector)
    wait_until("the slot is free", lambda: not _is_read(shop, ours.slot))
    shop.run("select pg_drop_replication_slot(%s)", ours.slot)
    second = place(shop, 2)
    slugs = [problem.slug for problem in problems(ours)]
    captures.resnapshot(ours)
    found = [headers["id"] for _, _, headers in await_events(shop, 3)]

    assert slugs == ["capture-slot-missing"]
    assert sorted(found) == sorted([str(first.id)] * 2 + [str(second.id)])
    check(ours)


def _is_read(bank: Bank, slot: str) -> bool:
    question = "select active from pg_replication_slots where slot_name = %s"
    return bool(bank.one(question, slot))


def test_an_event_outside_of_a_transaction_is_refused(shop: Bank) -> None:
    with pytest.raises(CaptureError, match="outbox-without-transaction"):
        put(shop.db, placed(1))

    assert shop.run("select * from outbox") == []


def test_a_row_that_is_changed_halts_the_capture(shop: Bank) -> None:
    place(shop, 1)
    await_events(shop, 1)
    shop.run("update outbox set type = 'OrderUnplaced'")

    def failed() -> bool:
        slugs = [problem.slug for problem in problems(outbox_of(shop.capture))]
        return slugs == ["capture-failed"]

    wait_until("the capture has failed", failed, seconds=60, step=0.5)
