"""Dead letters: what could not be read, looked at and sent again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, Message, Producer

from headrace.errors import LogError
from headrace.log import GroupOffsets, Reading, StoredEvent, writer_settings

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_PREFIX = "headrace."
_REPLAYED = "headrace-replayed-from"
_FLUSH_SECONDS = 60.0


@dataclass(frozen=True)
class DeadLetter:
    """An input that could not be read, as it lies in the dead-letter topic."""

    stored: StoredEvent
    reason: str
    detail: str
    origin_topic: str
    origin_partition: int
    origin_offset: int
    origin_time: str

    @property
    def place(self) -> str:
        """Its own place, as commands name it: ``partition:offset``."""
        return f"{self.stored.partition}:{self.stored.offset}"

    @property
    def headers(self) -> list[tuple[str, bytes | None]]:
        """The headers that the input came with."""
        return [h for h in self.stored.headers if not h[0].startswith(_PREFIX)]


def read_dead_letters(
    admin: AdminClient, bootstrap: str, topic: str
) -> Iterator[DeadLetter]:
    """Give the dead letters of a topic, up to where it ends now.

    Raises:
        LogError: [topic-missing] there is no such topic;
            [not-a-dead-letter] the topic holds something else.
    """
    for batch in Reading(admin, bootstrap, topic):
        for event in batch:
            yield _dead_letter(event)


def _dead_letter(event: StoredEvent) -> DeadLetter:
    told = {
        name.removeprefix(_PREFIX): (value or b"").decode(errors="replace")
        for name, value in event.headers
        if name.startswith(_PREFIX)
    }
    try:
        return DeadLetter(
            stored=event,
            reason=told["reason"],
            detail=told["detail"],
            origin_topic=told["origin.topic"],
            origin_partition=int(told["origin.partition"]),
            origin_offset=int(told["origin.offset"]),
            origin_time=told["origin.time"],
        )
    except (KeyError, ValueError) as error:
        raise LogError(
            "not-a-dead-letter",
            f"{event.topic} holds an event that is not a dead letter",
            detail=f"partition {event.partition}, offset {event.offset}: {error}.",
            hint="dead letters lie in <pipeline>.dead-letters.",
        ) from error


class Replay:
    """Sends dead letters back to where they came from.

    How far a replay of all has come is kept as a consumer group of its own, so a
    second one goes on where the first has ended.

    Args:
        bootstrap: The brokers' addresses.
        topic: The dead-letter topic.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._group = f"headrace.{topic}.replay"

    def unsent(self, letters: Iterable[DeadLetter]) -> list[DeadLetter]:
        """Give those that no replay has sent yet."""
        found = list(letters)
        partitions = {letter.stored.partition for letter in found}
        with GroupOffsets(self._bootstrap, self._group) as group:
            done = group.committed(self._topic, partitions)
        return [
            letter
            for letter in found
            if letter.stored.offset >= done.get(letter.stored.partition, 0)
        ]

    def send(self, letters: Iterable[DeadLetter]) -> int:
        """Send letters to their topics again; give how many were acknowledged.

        Raises:
            LogError: [replay-incomplete] some were not.
        """
        producer = Producer(writer_settings(self._bootstrap))
        refused: list[KafkaError] = []
        count = 0
        for letter in letters:
            producer.produce(
                letter.origin_topic,
                key=letter.stored.key,
                value=letter.stored.value,
                headers=[*letter.headers, (_REPLAYED, letter.place)],
                on_delivery=partial(_note, refused),
            )
            producer.poll(0)
            count += 1
        waiting = producer.flush(_FLUSH_SECONDS)
        if refused or waiting:
            raise LogError(
                "replay-incomplete",
                f"{len(refused) + waiting} of {count} dead letters were not taken",
                detail=refused[0].str() if refused else "the brokers did not answer.",
                hint="replay again: those that were taken will come twice.",
            )
        return count

    def remember(self, letters: Iterable[DeadLetter]) -> None:
        """Note that these and all before them were sent."""
        ends: dict[int, int] = {}
        for letter in letters:
            partition, offset = letter.stored.partition, letter.stored.offset
            ends[partition] = max(ends.get(partition, 0), offset + 1)
        with GroupOffsets(self._bootstrap, self._group) as group:
            group.move(self._topic, ends)


def _note(refused: list[KafkaError], error: KafkaError | None, _: Message) -> None:
    if error is not None:
        refused.append(error)
