"""What a driver that has died left: files of its checkpoint, and what topics hold."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from headrace.log import client_settings
from support.harness.committed import committed
from support.harness.messages import topic_of, value_of

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SEEN = re.compile(r"(:\d{16}):\d{13}")


def files_of(checkpoint: Path) -> Counter[tuple[str, int | None]]:
    """Give the names and sizes of all files, what is random in names left out.

    The logs that hold random ids and times write them at one length. A snapshot of
    RocksDB is no two times of one size, nor is the sum of a random id.
    """
    found: Counter[tuple[str, int | None]] = Counter()
    for path in checkpoint.rglob("*"):
        if path.is_file():
            name = _UUID.sub("*", path.relative_to(checkpoint).as_posix())
            varies = ".zip" in name or name.endswith("*.changelog.crc")
            found[name, None if varies else path.stat().st_size] += 1
    return found


def offsets_of(checkpoint: Path) -> dict[str, list[str]]:
    """Give how far each batch reads of each source, as its file of offsets says.

    A clock notes when it saw a partition move, which is no two times the same.
    """
    found = {}
    for path in (checkpoint / "offsets").iterdir():
        if path.name.isdigit():
            _, _, *places = path.read_text().splitlines()
            found[path.name] = [_SEEN.sub(r"\1:*", place) for place in places]
    return found


def ends_of(bootstrap: str, topics: Iterable[str]) -> dict[str, list[int]]:
    """Give where topics end, what is not committed counted too."""
    consumer = Consumer({**client_settings(bootstrap), "group.id": "ends"})
    ends = {}
    for topic in topics:
        partitions = sorted(consumer.list_topics(topic, 10).topics[topic].partitions)
        places = [TopicPartition(topic, number) for number in partitions]
        ends[topic] = [consumer.get_watermark_offsets(p, 10)[1] for p in places]
    consumer.close()
    return ends


def rows_of(bootstrap: str, topics: Iterable[str]) -> dict[str, list[Any]]:
    """Give what is committed in topics, by topic."""
    names = list(topics)
    found: dict[str, list[Any]] = {name: [] for name in names}
    for message in committed(bootstrap, names, "remains"):
        row = (message.partition(), message.key(), message.value())
        found[topic_of(message)].append(row)
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


def ledger_of(bootstrap: str, pipeline: str) -> list[tuple[int, int]]:
    """Give the batches that the lanes of a pipeline hold, with their rows."""
    topic = f"headrace.{pipeline}.progress"
    records = [
        json.loads(value_of(m)) for m in committed(bootstrap, [topic], "remains")
    ]
    return sorted((record["batch"], record["rows"]) for record in records)
