"""One producer and three readers, each at a speed of its own."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, Message, Producer

from headrace.log import client_settings

TOPIC = "card-payments"
CARDS = 500
FLUSH_SECONDS = 30


class Pace:
    """Lets so many events through in a second, until it is lifted."""

    def __init__(self, per_second: float | None) -> None:
        self.per_second = per_second
        self._began = time.monotonic()
        self._passed = 0

    def allowance(self) -> int:
        """Give how many events may pass now."""
        if self.per_second is None:
            return 1000
        due = (time.monotonic() - self._began) * self.per_second
        return max(0, int(due) - self._passed)

    def passed(self, count: int) -> None:
        """Note events that have passed."""
        self._passed += count


@dataclass
class PaymentWriter:
    """Appends payments, keyed by card; each card's payments are numbered."""

    bootstrap: str
    per_second: float
    stop: threading.Event
    acknowledged: Counter[int] = field(default_factory=Counter)
    failed: int = 0

    def run(self) -> None:
        """Write until told to stop, then wait for the last acknowledgement."""
        # All in-sync brokers must have an event before it counts as written, and
        # a retry inside the client can neither repeat nor reorder one.
        settings = {"acks": "all", "enable.idempotence": True, "linger.ms": 20}
        producer = Producer({**client_settings(self.bootstrap), **settings})
        numbers: Counter[str] = Counter()
        chance = random.Random(7)
        pace = Pace(self.per_second)
        while not self.stop.wait(0.02):
            due = pace.allowance()
            for _ in range(due):
                card = f"card-{chance.randrange(CARDS):03}"
                numbers[card] += 1
                cents = chance.randrange(100, 50_000)
                payment = {"card": card, "number": numbers[card], "cents": cents}
                producer.produce(
                    TOPIC,
                    key=card,
                    value=json.dumps(payment),
                    on_delivery=self._delivered,
                )
            pace.passed(due)
            producer.poll(0)
        self.failed += producer.flush(FLUSH_SECONDS)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acknowledged[message.partition() or 0] += 1
        else:
            self.failed += 1


@dataclass
class PaymentReader:
    """Reads the whole log in a group of its own and checks what it sees."""

    bootstrap: str
    group: str
    per_second: float | None
    stop: threading.Event
    hurry: threading.Event
    read: int = 0
    misplaced: int = 0
    position: dict[int, int] = field(default_factory=dict)

    def run(self) -> None:
        """Read until told to stop; when told to hurry, without a limit."""
        settings = {
            "group.id": self.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
        consumer = Consumer({**client_settings(self.bootstrap), **settings})
        consumer.subscribe([TOPIC])
        expected: Counter[str] = Counter()
        pace = Pace(self.per_second)
        try:
            while not self.stop.is_set():
                if self.hurry.is_set():
                    pace.per_second = None
                due = pace.allowance()
                messages = consumer.consume(min(due, 1000), 0.1) if due else []
                for message in messages:
                    self._take(message, expected)
                pace.passed(len(messages))
                if messages:
                    consumer.commit(asynchronous=False)
                elif not due:
                    self.stop.wait(0.05)
        finally:
            consumer.close()

    def _take(self, message: Message, expected: Counter[str]) -> None:
        value = message.value()
        if message.error() is not None or value is None:
            return
        payment = json.loads(value)
        expected[payment["card"]] += 1
        # A card's payments are in one partition, so they arrive in their order:
        # a lost, repeated or displaced one shows as a wrong number.
        if payment["number"] != expected[payment["card"]]:
            self.misplaced += 1
        self.read += 1
        self.position[message.partition() or 0] = (message.offset() or 0) + 1
