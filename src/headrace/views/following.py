"""Follow the topics of a pipeline's views into the store, batch by batch."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Event
from typing import cast

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from confluent_kafka import KafkaException as ClientError
from confluent_kafka.admin import AdminClient

from headrace.errors import HeadraceError
from headrace.log import bounds_of, client_settings, offsets_at, require_partitions
from headrace.views.batches import Change, Place, parse_entry, parse_stamp
from headrace.views.intake import GoneError, Intake
from headrace.views.store import ViewStore

_BATCH = 2000
_WAIT_SECONDS = 0.2
_PAUSE_SECONDS = 1.0
# Well within the hour in which nothing of a view's topic is compacted.
_TRUSTED_MS = 30 * 60 * 1000
_NEAR = 64


class Follower:
    """Reads what a pipeline commits, and applies each batch as a whole.

    Args:
        store: Where the rows go.
        topics: The views by their topics.
        pipeline: The pipeline's name.
        bootstrap: The brokers' addresses.
        tell: Is told what a person should know.
    """

    def __init__(
        self,
        store: ViewStore,
        topics: Mapping[str, str],
        *,
        pipeline: str,
        bootstrap: str,
        tell: Callable[[str], None] = lambda _news: None,
    ) -> None:
        self._store = store
        self._topics = dict(topics)
        self._progress = f"headrace.{pipeline}.progress"
        self._writer = f"headrace.{pipeline}.".encode()
        self._bootstrap = bootstrap
        self._tell = tell

    def run(self, enough: Event) -> None:
        """Follow until told to end; what fails is told, and tried again."""
        said = ""
        while not enough.is_set():
            try:
                self._follow(enough)
            except GoneError as gone:
                self._tell(f"{gone}; the store begins anew")
                self._store.clear()
            except (HeadraceError, ClientError, sqlite3.Error) as error:
                # Said once: topics that are not there yet may be so for long.
                if str(error) != said:
                    said = str(error)
                    self._tell(said)
                enough.wait(_PAUSE_SECONDS)

    def _follow(self, enough: Event) -> None:
        admin = AdminClient(client_settings(self._bootstrap))
        consumer = Consumer(_settings(self._bootstrap))
        intake = Intake(self._store, self._topics, self._progress)
        try:
            if intake.is_loading:
                consumer.assign(self._last_of_ledger(admin))
                while not intake.choose_base(_trusted_since()):
                    if enough.is_set():
                        return
                    self._read(consumer, intake)
                consumer.incremental_assign(self._places(admin, self._topics, {}))
            else:
                every = [self._progress, *self._topics]
                consumer.assign(self._places(admin, every, intake.resume()))
            while not enough.is_set():
                self._read(consumer, intake)
                intake.advance(_trusted_since())
        finally:
            intake.close()
            consumer.close()

    def _last_of_ledger(self, admin: AdminClient) -> list[TopicPartition]:
        """Give where the ledger's trusted records begin, or the last ones before."""
        topic = self._progress
        numbers = require_partitions(admin, topic)
        bounds = bounds_of(admin, {topic: numbers})[topic]
        recent = offsets_at(admin, topic, numbers, _trusted_since())
        places = []
        for number in numbers:
            end = bounds.end[number]
            near = min(recent.get(number, end), end) - _NEAR
            places.append(
                TopicPartition(topic, number, max(bounds.begin[number], near))
            )
        return places

    def _places(
        self, admin: AdminClient, topics: Iterable[str], known: Mapping[Place, int]
    ) -> list[TopicPartition]:
        return [
            TopicPartition(topic, number, known.get((topic, number), OFFSET_BEGINNING))
            for topic in topics
            for number in require_partitions(admin, topic)
        ]

    def _read(self, consumer: Consumer, intake: Intake) -> None:
        """Read on, and pass on what comes."""
        for message in consumer.consume(_BATCH, _WAIT_SECONDS):
            topic, number = message.topic() or "", message.partition() or 0
            error, offset = message.error(), message.offset() or 0
            key, value = message.key(), message.value()
            if error is not None:
                if error.code() != KafkaError._PARTITION_EOF:
                    raise _failure(error)
                intake.reach(topic, number, offset)
            elif topic != self._progress and key is not None:
                # A list, though the type allows a dictionary: that is for writing.
                told = cast("list[tuple[str, bytes | None]]", message.headers() or [])
                stamp = parse_stamp(told)
                intake.take(Change(topic, number, offset, key, value, *stamp))
            elif topic == self._progress and value and _is_lanes(key, self._writer):
                _, time = message.timestamp()
                intake.note(parse_entry(number, value, time=time, offset=offset))
            else:
                # Nobody's row, or a strange record in the ledger.
                intake.reach(topic, number, offset + 1)


def _is_lanes(key: bytes | None, writer: bytes) -> bool:
    return key is not None and key.startswith(writer)


def _settings(bootstrap: str) -> dict[str, object]:
    return {
        **client_settings(bootstrap),
        # The client wants a name; nothing is ever committed under it.
        "group.id": "headrace-views",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "isolation.level": "read_committed",
        "queued.max.messages.kbytes": 16 * 1024,
        # A batch is told as soon as it is there.
        "fetch.wait.max.ms": 100,
    }


def _trusted_since() -> int:
    return int(time.time() * 1000) - _TRUSTED_MS


def _failure(error: KafkaError) -> Exception:
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        return GoneError("records were removed before they were read")
    return ClientError(error)
