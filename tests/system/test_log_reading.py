"""Reading from the command line: from any place, to the end, and no further."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from headrace.log import writer_settings
from headrace.services import Stack
from support.harness.log_use import (
    command,
    consumed,
    new_name,
    new_topic,
    run,
    shown,
    write,
)

NOON = 1_794_744_000_000  # 2026-11-15T12:00:00Z


@pytest.fixture(scope="module")
def hours(stack: Stack) -> str:
    """Give a topic of two partitions, each with an event of every hour of a day."""
    topic = new_topic(stack, partitions=2, message_timestamp_after_max_ms=str(2**62))
    producer = Producer(writer_settings(stack.address("kafka")))
    for partition in (0, 1):
        for hour in range(24):
            value, at = b'{"hour": %d}' % hour, NOON + (hour - 12) * 3_600_000
            producer.produce(topic, value, partition=partition, timestamp=at)
    assert producer.flush(30) == 0
    return topic


def seen(stack: Stack, topic: str, *arguments: str) -> dict[int, list[int]]:
    """Give the hours of the events that are read, by partition."""
    found: dict[int, list[int]] = {}
    for event in consumed(stack, topic, *arguments):
        found.setdefault(event["partition"], []).append(event["value"]["hour"])
    return found


def test_a_topic_is_read_from_its_beginning_to_its_end(
    stack: Stack, hours: str
) -> None:
    assert seen(stack, hours) == {0: list(range(24)), 1: list(range(24))}


def test_a_partition_is_read_from_an_offset(stack: Stack, hours: str) -> None:
    found = seen(stack, hours, "--from", "offset:20", "--partition", "1")

    assert found == {1: [20, 21, 22, 23]}


@pytest.mark.parametrize(
    ("moment", "first"),
    [
        ("2026-11-15T12:00:00Z", 12),
        ("2026-11-15T12:00:00.001Z", 13),
        ("2026-11-15T11:59:59.9995Z", 12),
        ("2026-11-15T12:30:00+02:00", 11),
        ("2000-01-01T00:00:00Z", 0),
    ],
)
def test_a_topic_is_read_from_a_moment(
    moment: str, first: int, stack: Stack, hours: str
) -> None:
    found = seen(stack, hours, "--from", f"time:{moment}")

    assert found == {0: list(range(first, 24)), 1: list(range(first, 24))}


@pytest.mark.parametrize(
    "place", ["time:2100-01-01T00:00:00Z", "offset:24", "offset:1000", "latest"]
)
def test_there_is_nothing_to_read_behind_the_end(
    place: str, stack: Stack, hours: str
) -> None:
    assert consumed(stack, hours, "--from", place, "--until-end") == []


def test_reading_stops_after_as_many_events_as_were_asked_for(
    stack: Stack, hours: str
) -> None:
    assert len(consumed(stack, hours, "--max", "5")) == 5
    assert len(consumed(stack, hours, "--max", "48", "--follow")) == 48
    assert len(consumed(stack, hours, "--max", "1000")) == 48


def test_values_alone_can_be_written_back(stack: Stack, hours: str) -> None:
    copy = new_topic(stack)
    read = run(stack, "consume", hours, "--values", "--partition", "0")
    run(stack, "produce", copy, stdin=read.stdout)

    assert seen(stack, copy) == {0: list(range(24))}


def test_reading_leaves_no_group_behind(stack: Stack, hours: str) -> None:
    before = {group["name"] for group in shown(stack, "groups", "list")}
    consumed(stack, hours)

    assert {group["name"] for group in shown(stack, "groups", "list")} == before


def test_a_closed_pipe_ends_the_reading_quietly(stack: Stack, hours: str) -> None:
    with subprocess.Popen(
        command(stack, "consume", hours, "--follow"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as reading:
        assert reading.stdout is not None
        assert reading.stderr is not None
        first = json.loads(reading.stdout.readline())
        reading.stdout.close()

        assert reading.wait(30) == 0
        assert reading.stderr.read() == b""
    assert first["value"] == {"hour": 0}


def test_events_that_are_written_later_are_followed(stack: Stack) -> None:
    topic = new_topic(stack)
    write(stack, topic, [b"1"])
    with subprocess.Popen(
        command(stack, "consume", topic, "--values", "--follow", "--max", "3"),
        stdout=subprocess.PIPE,
        text=True,
    ) as reading:
        assert reading.stdout is not None
        lines = [reading.stdout.readline()]
        write(stack, topic, [b"2", b"3"])
        lines += reading.stdout.readlines()

        assert reading.wait(30) == 0
    assert lines == ["1\n", "2\n", "3\n"]


def test_a_topic_or_partition_that_is_not_there_is_an_error(
    stack: Stack, hours: str
) -> None:
    missing = run(stack, "consume", new_name("topic"))
    beyond = run(stack, "consume", hours, "--partition", "2")

    assert (missing.returncode, missing.stdout) == (1, "")
    assert "[topic-missing]" in missing.stderr
    assert (beyond.returncode, beyond.stdout) == (1, "")
    assert "[partition-missing]" in beyond.stderr


@pytest.fixture
def transactions(stack: Stack) -> Iterator[str]:
    """Give a topic with a committed, an aborted and an open transaction."""
    topic = new_topic(stack)
    settings = writer_settings(stack.address("kafka"))
    producer = Producer({**settings, "transactional.id": topic})
    producer.init_transactions(30)
    for value, end in (
        ("kept", producer.commit_transaction),
        ("undone", producer.abort_transaction),
        ("open", None),
    ):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.produce(topic, value)
        assert producer.flush(30) == 0
        if end is not None:
            end(30)
    yield topic
    producer.abort_transaction(30)


def test_only_committed_events_are_shown_and_withheld_ones_are_told_of(
    stack: Stack, transactions: str
) -> None:
    done = run(stack, "consume", transactions, "--values")

    assert (done.returncode, done.stdout) == (0, '"kept"\n"kept"\n')
    # Two events and a marker each, and then the open transaction.
    assert "offsets 6 to 7 are withheld" in done.stderr


def test_events_of_every_transaction_are_shown_on_demand(
    stack: Stack, transactions: str
) -> None:
    found = consumed(stack, transactions, "--values", "--isolation", "read_uncommitted")

    assert found == ["kept", "kept", "undone", "undone", "open", "open"]


def test_a_topic_that_ends_with_an_aborted_transaction_is_read_to_its_end(
    stack: Stack,
) -> None:
    topic = new_topic(stack)
    settings = writer_settings(stack.address("kafka"))
    producer = Producer({**settings, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, "undone")
    assert producer.flush(30) == 0
    producer.abort_transaction(30)

    assert consumed(stack, topic) == []
