"""Consumer groups from the command line: how far they are, and how to move them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer

from headrace.log import GroupOffsets, client_settings, end_offsets
from headrace.services import Stack
from support.harness.log_use import admin_of, new_name, new_topic, run, shown, write
from support.harness.waiting import wait_until


@pytest.fixture
def topic(stack: Stack) -> str:
    """Give a topic of two partitions, ten events in each."""
    name = new_topic(stack, partitions=2)
    for partition in (0, 1):
        write(stack, name, [b"%d" % n for n in range(10)], partition=partition)
    return name


@contextmanager
def reading(
    stack: Stack, topic: str, group: str, count: int, protocol: str = "classic"
) -> Iterator[None]:
    """Be a member that has read and committed so many events."""
    consumer = Consumer(
        {
            **client_settings(stack.address("kafka")),
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    came: list[Any] = []

    def all_came() -> bool:
        came.extend(consumer.consume(count - len(came), 0.2))
        return len(came) >= count

    try:
        wait_until(f"{count} events are read", all_came)
        consumer.commit(asynchronous=False)
        yield
    finally:
        consumer.close()


def group_of(stack: Stack, topic: str, count: int) -> str:
    """Give a group that has read so many events and left."""
    group = new_name("group")
    with reading(stack, topic, group, count):
        pass
    return group


def committed(stack: Stack, group: str, topic: str) -> dict[int, int]:
    with GroupOffsets(stack.address("kafka"), group) as offsets:
        return offsets.committed(topic, [0, 1])


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_lag_of_a_group_is_the_end_less_what_it_committed(
    protocol: str, stack: Stack, topic: str
) -> None:
    group = new_name("group")
    with reading(stack, topic, group, 7, protocol):
        found = shown(stack, "groups", "show", group)
        done = committed(stack, group, topic)
        ends = end_offsets(admin_of(stack), topic, [0, 1])

    assert found["members"] == 1
    assert found["state"] == "stable"
    assert found["lag"] == sum(ends.values()) - sum(done.values()) == 13
    for row in found["progress"]:
        at = done.get(row["partition"])
        assert row["committed"] == at
        assert row["end"] == ends[row["partition"]] == 10
        assert row["lag"] == 10 - (at or 0)
        assert row["member"]


def test_a_group_without_members_is_listed_with_its_lag(
    stack: Stack, topic: str
) -> None:
    group = group_of(stack, topic, 20)
    write(stack, topic, [b"a", b"b"], partition=0)

    [found] = [g for g in shown(stack, "groups", "list") if g["name"] == group]

    assert found == {"name": group, "state": "empty", "members": 0, "lag": 2}


def test_a_group_is_shown_to_people(stack: Stack, topic: str) -> None:
    group = group_of(stack, topic, 20)

    head, *rows = run(stack, "groups", "show", group).stdout.splitlines()

    columns = ["topic", "partition", "committed", "end", "lag", "member"]
    assert head.split() == columns
    assert [row.split() for row in rows] == [
        [topic, "0", "10", "10", "0", "-"],
        [topic, "1", "10", "10", "0", "-"],
    ]


@pytest.mark.parametrize(
    ("place", "after"),
    [
        ("earliest", {0: 0, 1: 0}),
        ("latest", {0: 10, 1: 10}),
        ("offset:4", {0: 4, 1: 4}),
        ("time:2000-01-01T00:00:00Z", {0: 0, 1: 0}),
        ("time:2100-01-01T00:00:00Z", {0: 10, 1: 10}),
    ],
)
def test_a_reset_moves_a_group(
    place: str, after: dict[int, int], stack: Stack, topic: str
) -> None:
    group = group_of(stack, topic, 20)
    reset = ["groups", "reset", group, "--topic", topic, "--to", place, "--yes"]

    moves = shown(stack, *reset)

    assert committed(stack, group, topic) == after
    assert moves == [
        {"topic": topic, "partition": p, "before": 10, "after": after[p]}
        for p in (0, 1)
    ]


def test_a_reset_of_one_partition_leaves_the_others(stack: Stack, topic: str) -> None:
    group = group_of(stack, topic, 20)
    place = ["--to", "offset:3", "--partition", "1"]
    run(stack, "groups", "reset", group, "--topic", topic, *place, "--yes")

    assert committed(stack, group, topic) == {0: 10, 1: 3}


def test_a_group_reads_on_where_the_reset_put_it(stack: Stack, topic: str) -> None:
    group = group_of(stack, topic, 20)
    place = ["--to", "offset:8"]
    run(stack, "groups", "reset", group, "--topic", topic, *place, "--yes")

    with reading(stack, topic, group, 4):
        pass

    assert committed(stack, group, topic) == {0: 10, 1: 10}


@pytest.mark.parametrize(
    ("options", "slug"),
    [
        (("--to", "earliest"), "not-confirmed"),
        (("--to", "offset:11", "--yes"), "place-outside"),
        (("--to", "earliest", "--partition", "2", "--yes"), "partition-missing"),
    ],
)
def test_a_reset_that_is_refused_moves_nothing(
    options: tuple[str, ...], slug: str, stack: Stack, topic: str
) -> None:
    group = group_of(stack, topic, 20)

    done = run(stack, "groups", "reset", group, "--topic", topic, *options)

    assert done.returncode == 1
    assert f"[{slug}]" in done.stderr
    assert committed(stack, group, topic) == {0: 10, 1: 10}


def test_a_dry_run_shows_the_reset_and_moves_nothing(stack: Stack, topic: str) -> None:
    group = group_of(stack, topic, 20)
    place = ["--topic", topic, "--to", "earliest", "--dry-run"]

    moves = shown(stack, "groups", "reset", group, *place)

    assert [(move["before"], move["after"]) for move in moves] == [(10, 0), (10, 0)]
    assert committed(stack, group, topic) == {0: 10, 1: 10}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_members_is_not_moved(
    protocol: str, stack: Stack, topic: str
) -> None:
    group = new_name("group")
    place = ["--topic", topic, "--to", "earliest", "--yes"]
    with reading(stack, topic, group, 20, protocol):
        done = run(stack, "groups", "reset", group, *place)

    assert done.returncode == 1
    assert "[group-active]" in done.stderr
    assert committed(stack, group, topic) == {0: 10, 1: 10}


def test_a_group_that_is_not_there_is_an_error_and_is_not_made(
    stack: Stack, topic: str
) -> None:
    group = new_name("group")
    place = ["--topic", topic, "--to", "earliest", "--yes"]

    show = run(stack, "groups", "show", group)
    reset = run(stack, "groups", "reset", group, *place)

    assert (show.returncode, reset.returncode) == (1, 1)
    assert "[group-missing]" in show.stderr
    assert "[group-missing]" in reset.stderr
    assert group not in {g["name"] for g in shown(stack, "groups", "list")}


# Run apart: what it guards against ends the process without a word.
ASKING = """
import sys
from headrace.log import GroupOffsets, administer, create_topic, list_groups

bootstrap = sys.argv[1]
admin = administer(bootstrap, None)
create_topic(admin, "fresh", partitions=2)
for number in range(40):
    with GroupOffsets(bootstrap, f"group-{number}") as group:
        assert group.committed("fresh", [0, 1]) == {}
        group.move("fresh", {0: 0})
        assert group.committed("fresh", [0, 1]) == {0: 0}
    if number % 10 == 0:
        assert len(list_groups(admin, bootstrap)) == number + 1
print("all were answered")
"""


def test_groups_can_be_asked_for_before_their_coordinator_is_there(
    new_stack: Callable[..., Stack],
) -> None:
    stack = new_stack()
    stack.up(["kafka"])

    done = subprocess.run(
        [sys.executable, "-c", ASKING, stack.address("kafka")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert (done.returncode, done.stdout) == (0, "all were answered\n"), done.stderr
