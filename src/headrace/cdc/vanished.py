"""Rows that a new snapshot no longer holds, said as deletions in the log.

A snapshot says which rows there are, and nothing about those that were deleted while
nobody looked. Whoever built a table from the log would keep them for ever.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from headrace.cdc.place import Capture
from headrace.cdc.topics import ends_of, records_of
from headrace.errors import CaptureError

_SECONDS = 60
_AT_ONCE = 5_000


class KeyCensus:
    """The last word of a table's topic about each key: where, and alive or not.

    Keys are held in memory, about 150 bytes each.
    """

    def __init__(self, capture: Capture, topic: str) -> None:
        self._capture, self._topic = capture, topic
        self._last: dict[bytes, tuple[int, int, bool]] = {}
        self._read_to: dict[int, int] = {}

    def read_on(self) -> None:
        """Read what has been written since the last time.

        Raises:
            CaptureError: [capture-log-unreadable].
        """
        kafka = self._capture.kafka
        for record in records_of(kafka, self._topic, self._read_to):
            self._read_to[record.partition] = record.offset + 1
            if record.key is not None:
                place = record.partition, record.offset
                self._last[record.key] = (*place, _is_alive(record.value))

    def vanished(self, before: Mapping[int, int]) -> dict[bytes, tuple[int, int]]:
        """Give the live keys of which nothing was said since given offsets."""
        return {
            key: (partition, offset)
            for key, (partition, offset, alive) in self._last.items()
            if alive and offset < before.get(partition, 0)
        }


def _is_alive(value: bytes | None) -> bool:
    """Tell whether a change leaves a row behind."""
    return value is not None and json.loads(value).get("after") is not None


def delete_vanished(
    capture: Capture,
    topic: str,
    vanished: Mapping[bytes, tuple[int, int]],
    origin: Mapping[str, Any],
) -> int:
    """Write a deletion and a tombstone for each key, all of them or none.

    The connector must be stopped: these stand behind all that it has written.

    Args:
        capture: The capture.
        topic: The table's topic.
        vanished: The keys, with the partition and offset of their last change.
        origin: Where the database was when they were found missing.

    Raises:
        CaptureError: [capture-log-unreadable] the cluster does not take them.
    """
    from confluent_kafka import KafkaException, Producer  # noqa: PLC0415

    if not vanished:
        return 0
    last = _values_at(capture, topic, vanished)
    producer = Producer(
        {
            **capture.kafka,
            "transactional.id": f"headrace.cdc.{capture.database}.vanished",
            "acks": "all",
        }
    )
    try:
        producer.init_transactions(_SECONDS)
        producer.begin_transaction()
        for number, (key, (partition, _)) in enumerate(vanished.items()):
            deletion = json.dumps(_deletion(last[key], origin))
            producer.produce(topic, key=key, value=deletion, partition=partition)
            producer.produce(topic, key=key, value=None, partition=partition)
            if number % _AT_ONCE == 0:
                producer.flush(_SECONDS)
        producer.commit_transaction(_SECONDS)
    except KafkaException as error:
        raise CaptureError(
            "capture-log-unreadable",
            f'the cluster does not take deletions for topic "{topic}"',
            detail=error.args[0].str(),
            hint="run the command again: it begins where it was.",
        ) from error
    return len(vanished)


def _values_at(
    capture: Capture, topic: str, places: Mapping[bytes, tuple[int, int]]
) -> dict[bytes, Any]:
    """Read the last change of some keys again; the census keeps no values."""
    wanted = {place: key for key, place in places.items()}
    first = ends_of(capture.kafka, topic)
    for partition, offset in wanted:
        first[partition] = min(offset, first[partition])
    found = {}
    for record in records_of(capture.kafka, topic, first):
        key = wanted.get((record.partition, record.offset))
        if key is not None and record.value is not None:
            found[key] = json.loads(record.value)
            if len(found) == len(wanted):
                break
    return found


def _deletion(change: dict[str, Any], origin: Mapping[str, Any]) -> dict[str, Any]:
    """Make the deletion that the connector would have written."""
    now = time.time_ns()
    times = {"ts_ms": now // 1_000_000, "ts_us": now // 1_000, "ts_ns": now}
    source = {**change["source"], **times, "snapshot": "false", **origin}
    return {
        "before": change["after"],
        "after": None,
        "source": source,
        "transaction": None,
        "op": "d",
        **times,
    }
