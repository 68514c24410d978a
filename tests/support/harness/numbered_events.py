"""Events that carry their own proof: a sequence number per key, and a checksum."""

from __future__ import annotations

import random
import zlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.log import writer_settings
from support.harness.messages import topic_of, value_of

_UNDER_WAY = 50_000


def create(bootstrap: str, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(topic, partitions)]).values():
        made.result(30)


def produce(
    bootstrap: str, topic: str, count: int, *, keys: int, seed: int
) -> dict[str, int]:
    """Write events in a shuffled order of keys; give how many each key has."""
    choose = random.Random(seed)  # noqa: S311 - an order, no secret
    sent: dict[str, int] = defaultdict(int)
    producer = Producer({**writer_settings(bootstrap), "linger.ms": 20})
    for _ in range(count):
        key = f"key-{choose.randrange(keys)}"
        producer.produce(topic, value=event(key, sent[key]), key=key.encode())
        sent[key] += 1
        # Waits where more is under way than the client holds.
        while len(producer) > _UNDER_WAY:
            producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(60) == 0
    return dict(sent)


def event(key: str, number: int) -> bytes:
    proof = zlib.crc32(f"{key}:{number}".encode())
    return f"{key}:{number}:{proof:08x}".encode()


@dataclass
class Account:
    """What a reader has seen of one topic, in the order in which it saw it."""

    numbers: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    seen: int = 0

    def add(self, value: bytes) -> None:
        key, number, _ = value.decode().split(":")
        assert value == event(key, int(number)), f"{value!r} was changed on its way"
        self.numbers[key].append(int(number))
        self.seen += 1

    def faults(self, sent: dict[str, int], every: int = 1) -> list[str]:
        """Say what is not as it was sent: each number once, and in order."""
        found = []
        for key in sorted(set(sent) | set(self.numbers)):
            wanted = list(range(0, sent.get(key, 0), every))
            got = self.numbers.get(key, [])
            if got != wanted:
                twice = len(got) - len(set(got))
                lost = len(set(wanted) - set(got))
                back = sum(1 for left, right in pairwise(got) if right < left)
                found.append(
                    f"{key}: {lost} lost, {twice} twice, {back} steps back, "
                    f"of {len(wanted)}"
                )
        return found


class CommittedReader:
    """A reader of committed events that reads on while the drivers die."""

    def __init__(self, bootstrap: str, topics: Iterable[str]) -> None:
        self.accounts = {topic: Account() for topic in topics}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.queue.backoff.ms": 5,
                "log_level": 0,
            }
        )
        self._assigned: set[str] = set()

    def read(self, seconds: float = 0.2) -> int:
        """Take what can be read now; give how much it was."""
        self._assign()
        before = self.seen
        while batch := self._consumer.consume(1000, seconds):
            for message in batch:
                if message.error() is None:
                    self.accounts[topic_of(message)].add(value_of(message))
        return self.seen - before

    @property
    def seen(self) -> int:
        return sum(account.seen for account in self.accounts.values())

    def close(self) -> None:
        self._consumer.close()

    def _assign(self) -> None:
        """Begin with each topic when it is there: a driver makes it."""
        for topic in set(self.accounts) - self._assigned:
            found = self._consumer.list_topics(topic, 10).topics[topic]
            if found.error is None and found.partitions:
                self._assigned.add(topic)
                start = [TopicPartition(topic, p, 0) for p in found.partitions]
                self._consumer.incremental_assign(start)
