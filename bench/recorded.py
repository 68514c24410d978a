"""Traffic that was made before it is sent, so that sending takes little of a core.

To draw a transaction and to encode it costs as much as what a pipeline does with it. A
recording is made while nothing is measured; what is left for later is to put the time
of each transaction in, and to hand it to Kafka's client.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from bank import PARTITIONS, TOPIC, Bank
from confluent_kafka import KafkaError, Producer
from sending import CLOSING, Flow, of_nobody
from transactions import avro_writer

from headrace.log import writer_settings

# Of a record: when it arrives and was made, in milliseconds from the start; how long
# its key is, and its value without the time.
_HEAD = struct.Struct("<iiBB")
# The last field of a transaction is its time, and in this century it has 8 bytes.
_TIME_BYTES = 8
_CHUNK = 1 << 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Recording:
    """The transactions of a flow in a file, to be sent at any time."""

    def __init__(self, path: Path, flow: Flow, schema_id: int) -> None:
        self._path = path
        self._write = avro_writer(schema_id)
        self._latest_ms = 0
        with path.open("wb") as file:
            self._record(flow, file)

    def _record(self, flow: Flow, file: BinaryIO) -> None:
        millisecond = timedelta(milliseconds=1)
        for arrival_ms, made in flow.arrivals():
            made_ms = (made.made_at - flow.start) // millisecond
            self._latest_ms = max(self._latest_ms, made_ms)
            key, value = made.card.encode(), self._write(made)[:-_TIME_BYTES]
            head = _HEAD.pack(arrival_ms, made_ms, len(key), len(value))
            file.write(head + key + value)

    def closing(self, start: datetime) -> Iterator[tuple[int, str, bytes]]:
        """Give the partition, key and value of what settles all that came before."""
        at = start + timedelta(milliseconds=self._latest_ms) + CLOSING
        for partition in range(PARTITIONS):
            last = of_nobody(f"closing-{partition}", at)
            yield partition, last.card, self._write(last)

    def arrivals(self, start: datetime) -> Iterator[tuple[int, bytes, bytes]]:
        """Give when each record arrives, its key and its value."""
        start_us = (start - _EPOCH) // timedelta(microseconds=1)
        left = b""
        with self._path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                left += chunk
                place = 0
                while len(left) - place >= _HEAD.size:
                    arrival, made, keyed, valued = _HEAD.unpack_from(left, place)
                    begin = place + _HEAD.size
                    end = begin + keyed + valued
                    if end > len(left):
                        break
                    value = left[begin + keyed : end] + _long(start_us + made * 1000)
                    yield arrival, left[begin : begin + keyed], value
                    place = end
                left = left[place:]


def _long(number: int) -> bytes:
    """Give a time as Avro writes it: seven bits a byte, the lowest first."""
    rest = number << 1
    parts = [rest >> shift & 0x7F | 0x80 for shift in range(0, 49, 7)]
    return bytes((*parts, rest >> 49))


class Player:
    """Sends a recording at its own pace, from a moment on."""

    def __init__(self, bank: Bank, recording: Recording, start: datetime) -> None:
        settings = {
            # To send each by itself would cost the log more than the pipeline.
            "linger.ms": 20,
            "queue.buffering.max.messages": 500_000,
            # What was not refused has arrived: to be told of each costs too much.
            "delivery.report.only.error": True,
            "on_delivery": self._refused,
        }
        self._producer = Producer({**writer_settings(bank.bootstrap), **settings})
        self._recording = recording
        self.start = start
        self.sent = self.refused = 0

    @property
    def acknowledged(self) -> int:
        """How many the log has, so far."""
        return self.sent - len(self._producer)

    def run(self) -> None:
        """Send everything, and then one to each partition that settles it."""
        began = time.monotonic() + (self.start - datetime.now(UTC)).total_seconds()
        for arrival_ms, key, value in self._recording.arrivals(self.start):
            ahead = arrival_ms / 1000 - (time.monotonic() - began)
            if ahead > 0.002:
                self._producer.poll(0)
                time.sleep(ahead)
            self._produce(key, value)
            self.sent += 1
        for partition, card, value in self._recording.closing(self.start):
            self._produce(card, value, partition)
        while self._producer.flush(1):
            pass

    def _produce(self, key: bytes | str, value: bytes, partition: int = -1) -> None:
        while True:
            try:
                self._producer.produce(TOPIC, value, key, partition)
                break
            except BufferError:
                self._producer.poll(0.1)

    def _refused(self, error: KafkaError | None, _: object) -> None:
        self.refused += error is not None
