"""Writing to a log so that every event is acknowledged, or named as one that is not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from headrace.errors import LogError
from headrace.log.cluster import client_settings
from headrace.log.lines import Line

_DELIVERY_SECONDS = 60
_MEMORY_KILOBYTES = 64 * 1024
_ANY_PARTITION = -1


def writer_settings(bootstrap: str) -> dict[str, Any]:
    """Give the settings that every writer of ours begins with."""
    return {
        **client_settings(bootstrap),
        # All in-sync brokers must have an event before it counts as written, and
        # a retry inside the client can neither repeat nor reorder one.
        "acks": "all",
        "enable.idempotence": True,
        # A key goes where Java clients, and so Spark, put it.
        "partitioner": "murmur2_random",
    }


@dataclass(frozen=True)
class Destination:
    """Where events go, and what goes with each of them."""

    topic: str
    partition: int | None = None
    headers: Sequence[tuple[str, str]] = ()


class EventWriter:
    """Appends events to a topic, and counts which of them the brokers have.

    What waits to be sent is bounded: when it is too much, `write` waits.

    Example:
        ``writer.write(Line(1, b"key", b"value")); writer.finish()``
    """

    def __init__(self, bootstrap: str, destination: Destination) -> None:
        self._to = destination
        self._headers: list[tuple[str, str | bytes | None]] = [*destination.headers]
        self.taken = 0
        self.acknowledged = 0
        self._first_failure: tuple[int, KafkaError] | None = None
        self._producer = Producer(
            {
                **writer_settings(bootstrap),
                "linger.ms": 20,
                "message.timeout.ms": _DELIVERY_SECONDS * 1000,
                "queue.buffering.max.kbytes": _MEMORY_KILOBYTES,
                # The topic decides how large an event may be; batches stay small.
                "message.max.bytes": _MEMORY_KILOBYTES * 1000,
                "batch.size": 1_000_000,
            }
        )

    @property
    def has_failed(self) -> bool:
        """Whether an event is known not to be in the log."""
        return self._first_failure is not None

    def write(self, line: Line) -> None:
        """Take one event; it is sent in the background, or known to have failed."""
        delivered = partial(self._delivered, line.number)
        number = self._to.partition
        self.taken += 1
        while not self.has_failed:
            try:
                self._producer.produce(
                    self._to.topic,
                    key=line.key,
                    value=line.value,
                    partition=_ANY_PARTITION if number is None else number,
                    headers=self._headers,
                    on_delivery=delivered,
                )
                break
            except BufferError:
                self._producer.poll(0.5)
            except KafkaException as error:
                self._first_failure = (line.number, error.args[0])
        self._producer.poll(0)

    def write_all(self, lines: Iterable[Line]) -> None:
        """Take events until there are no more, or one is known to have failed."""
        for line in lines:
            self.write(line)
            if self.has_failed:
                break

    def finish(self) -> int:
        """Wait until the fate of every event is known; give how many are written.

        Raises:
            LogError: [not-acknowledged] some are not.
        """
        # Each event has a time limit of its own, so this ends. In steps, so that
        # Ctrl-C is heard.
        while self._producer.flush(0.5):
            continue
        if self.acknowledged != self.taken or self.has_failed:
            raise self._error()
        return self.acknowledged

    def _delivered(self, number: int, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self.acknowledged += 1
        elif self._first_failure is None:
            self._first_failure = (number, error)

    def _error(self) -> LogError:
        number, cause = self._first_failure or (0, None)
        missing = self.taken - self.acknowledged
        return LogError(
            "not-acknowledged",
            f'not every event was written to topic "{self._to.topic}"',
            detail=f"{self.acknowledged} were acknowledged, {missing} were not; the "
            f"first of those is line {number}: {cause.str() if cause else 'unknown'}.",
            hint="an event that was not acknowledged may still be in the log: look "
            "with `headrace consume` before sending it again.",
        )
