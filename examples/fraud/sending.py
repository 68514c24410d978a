"""Send the bank's traffic into the log, at its own pace, and change profiles."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Protocol

from bank import PARTITIONS, TOPIC, Bank
from confluent_kafka import KafkaError, Message, Producer
from people import Change, Person
from transactions import Profile, Transaction, avro_writer

from headrace.log import writer_settings

# Far enough beyond the last transaction that everything before it is settled.
CLOSING = timedelta(seconds=3)
REHEARSAL = "rehearsal-"
REHEARSED_EVERY_SECONDS = 0.25


class Flow(Protocol):
    """What can be sent: transactions as they arrive, and what changes meanwhile."""

    @property
    def start(self) -> datetime: ...  # noqa: D102 - as Traffic says it

    @property
    def crowd(self) -> Sequence[Person]: ...  # noqa: D102

    @property
    def changes(self) -> Sequence[Change]: ...  # noqa: D102

    def arrivals(self) -> Iterator[tuple[int, Transaction]]: ...  # noqa: D102


class Sender:
    """Sends what arrives when it arrives, until all is sent or it is enough."""

    def __init__(self, bank: Bank, traffic: Flow, schema_id: int) -> None:
        self._bank, self._traffic = bank, traffic
        self._write = avro_writer(schema_id)
        settings = {"linger.ms": 5, "queue.buffering.max.messages": 500_000}
        self._producer = Producer({**writer_settings(bank.bootstrap), **settings})
        self._enough = threading.Event()
        self._ids: set[str] = set()
        self._latest = traffic.start
        self.sent = self.acknowledged = self.refused = 0

    @property
    def ids(self) -> frozenset[str]:
        """Give the transactions that were sent, each once."""
        return frozenset(self._ids)

    def stop(self) -> None:
        """Send no more."""
        self._enough.set()

    def run(self) -> None:
        """Send everything; the profiles change meanwhile."""
        # Not from now on: people were made since the start, and the time that took
        # would look like a delay of the transactions on their way.
        waits = (self._traffic.start - datetime.now(UTC)).total_seconds()
        began = time.monotonic() + waits
        changing = threading.Thread(target=self._change_profiles, args=(began,))
        changing.start()
        for arrival_ms, transaction in self._traffic.arrivals():
            ahead = arrival_ms / 1000 - (time.monotonic() - began)
            if ahead > 0.002:
                self._producer.poll(0)
                if self._enough.wait(ahead):
                    break
            self._send(transaction)
        self._close()
        self._enough.set()
        changing.join()

    def _send(self, transaction: Transaction, partition: int = -1) -> None:
        while True:
            try:
                self._producer.produce(
                    TOPIC,
                    key=transaction.card,
                    value=self._write(transaction),
                    partition=partition,
                    on_delivery=self._delivered,
                )
                break
            except BufferError:
                self._producer.poll(0.1)
        self.sent += 1
        self._ids.add(transaction.transaction_id)
        self._latest = max(self._latest, transaction.made_at)

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.refused += 1

    def _close(self) -> None:
        """Send one more to each partition: event time goes on with events alone.

        They are of no card and no user.
        """
        at = self._latest + CLOSING
        for partition in range(PARTITIONS):
            name = f"closing-{partition}"
            self._send(of_nobody(name, at), partition)
            self._ids.discard(name)
            self.sent -= 1
            self.acknowledged -= 1
        while self._producer.flush(1):
            pass

    def rehearse(self, is_enough: Callable[[], bool]) -> None:
        """Send what users would, by cards they do not have, until all code has run."""
        for number, person in enumerate(cycle(self._traffic.crowd)):
            if is_enough():
                break
            made = _rehearsed(number, person.profile)
            for partition in range(PARTITIONS):
                self._producer.produce(
                    TOPIC,
                    key=made.card,
                    value=self._write(made),
                    partition=partition,
                )
            self._producer.flush(REHEARSED_EVERY_SECONDS)
            self._enough.wait(REHEARSED_EVERY_SECONDS)

    def _change_profiles(self, began: float) -> None:
        for change in sorted(self._traffic.changes, key=lambda c: c.offset_ms):
            ahead = change.offset_ms / 1000 - (time.monotonic() - began)
            if self._enough.wait(max(ahead, 0)):
                return
            self._bank.change(change.profile)


def of_nobody(name: str, at: datetime) -> Transaction:
    """Give a transaction for whose result nobody waits."""
    return Transaction(name, name, 0, 0, "XX", "nobody", declined=True, made_at=at)


def _rehearsed(number: int, who: Profile) -> Transaction:
    name = f"{REHEARSAL}{number}"
    return Transaction(
        transaction_id=name,
        card=name,
        user_id=who.user_id,
        cents=who.usual_cents,
        country=who.home_country,
        merchant="nobody",
        declined=False,
        made_at=datetime.now(UTC),
    )
