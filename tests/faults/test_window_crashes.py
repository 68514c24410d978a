"""A driver that is killed leaves no trace in the panes of any kind of window."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from numbered_events import create
from rig import Ending, ending, launch
from windowed import KEEP_LATE, KINDS

from headrace.log import client_settings, writer_settings

DRIVER = Path(__file__).with_name("windowed.py")
INPUT = "windowed-in"
EVENTS = 1500
# In some batches and not in others.
TORN = (3, 4, 700, 1499)
BEGAN_AT = datetime(2026, 1, 1, tzinfo=UTC)

Panes = dict[str, dict[bytes, list[dict[str, Any]]]]


def write_payments(bootstrap: str) -> None:
    """Write events that come out of order, and some that come too late."""
    create(bootstrap, INPUT, 2)
    chance = random.Random(5)  # noqa: S311 - an order, no secret
    producer = Producer(writer_settings(bootstrap))
    for number in range(EVENTS):
        card = f"card-{chance.randrange(12)}"
        behind = chance.choice([0, 0, 0, 10, 25, chance.randrange(7200)])
        made_at = BEGAN_AT + timedelta(seconds=5 * number - behind)
        payment = {"card": card, "number": number, "cents": number % 100}
        value = json.dumps(payment | {"made_at": made_at.isoformat()})
        if number in TORN:
            value = value[:20]
        producer.produce(INPUT, value, key=card, partition=number % 2)
    assert producer.flush(60) == 0


def run(given: dict[str, Any], failpoint: str | None = None) -> Ending:
    return ending(launch(DRIVER, json.dumps(given), failpoint), 300)


def committed(bootstrap: str, topics: list[str], group: str) -> Iterator[Message]:
    """Read what topics hold, without what no transaction has committed."""
    settings = {"group.id": group, "isolation.level": "read_committed"}
    consumer = Consumer({**client_settings(bootstrap), **settings})
    left = {}
    for topic in topics:
        for partition in consumer.list_topics(topic, 10).topics[topic].partitions:
            place = TopicPartition(topic, partition, 0)
            low, high = consumer.get_watermark_offsets(place, 10)
            if high > low:
                left[topic, partition] = high
    consumer.assign([TopicPartition(*place, 0) for place in left])
    while left:
        yield from consumer.consume(1000, 0.2)
        for place in consumer.position([TopicPartition(*place) for place in left]):
            # The last offset may be a transaction's end, which is no message.
            if place.offset >= left[place.topic, place.partition]:
                del left[place.topic, place.partition]
    consumer.close()


def panes(bootstrap: str, name: str) -> Panes:
    """Give what is committed, by output and key, in order."""
    outputs = [*KINDS, *(f"{kind}-late" for kind in KEEP_LATE)]
    found: Panes = {output: defaultdict(list) for output in outputs}
    topics = [f"{name}-{output}" for output in outputs]
    for message in committed(bootstrap, topics, name):
        output = message.topic().removeprefix(f"{name}-")
        found[output][message.key()].append(json.loads(message.value()))
    return found


def dead_letters(bootstrap: str, name: str) -> list[tuple[int, int]]:
    """Give where the inputs were that could not be read: partition and offset."""
    found = []
    for message in committed(bootstrap, [f"{name}.dead-letters"], name):
        told = dict(message.headers())
        origin = "headrace.origin."
        place = told[f"{origin}partition"], told[f"{origin}offset"]
        found.append((int(place[0]), int(place[1])))
    return sorted(found)


def test_each_kind_of_window_gives_the_same_panes_though_the_driver_dies(
    bootstrap: str, tmp_path: Path
) -> None:
    write_payments(bootstrap)
    given = {"bootstrap": bootstrap, "topic": INPUT, "per_batch": 500}
    calm = given | {"name": "calm", "checkpoint": str(tmp_path / "calm")}
    killed = given | {"name": "killed", "checkpoint": str(tmp_path / "killed")}

    undisturbed = run(calm)
    assert undisturbed.status == 0, undisturbed.log
    for failpoint in "rows-flushed:2", "committed:3", "after-spark-commit:1":
        fallen = run(killed, failpoint)
        assert fallen.was_killed, f"{failpoint}: {fallen.log}"
    last = run(killed)
    assert last.status == 0, last.log

    wanted, found = panes(bootstrap, "calm"), panes(bootstrap, "killed")
    for output in wanted:
        assert found[output] == wanted[output], output
    assert all(wanted[kind] for kind in KINDS)
    torn = sorted((number % 2, number // 2) for number in TORN)
    assert dead_letters(bootstrap, "calm") == torn
    assert dead_letters(bootstrap, "killed") == torn
    assert wanted["tumbling-late"]
    assert any(
        pane["pane"] == "late" for rows in wanted["tumbling"].values() for pane in rows
    )
