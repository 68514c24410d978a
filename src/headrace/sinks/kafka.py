"""Kafka as a sink: what a topic is given, and what it promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headrace.schema.names import (
    require_format,
    require_topic_name,
    require_writable_topic,
)
from headrace.schema.origin import declared_at
from headrace.sinks.promises import Servers


@dataclass(frozen=True)
class KafkaSink:
    """A topic to write to; its records are keyed by one column.

    The records of one that is stamped tell their batch in a header, and the ledger
    tells where each batch ends in it, so that who follows it can go batch by batch.
    What it promises is said in the words of `headrace.sinks.promises`.
    """

    topic: str
    key: str | None
    format: str
    where: str
    is_stamped: bool = False

    system: ClassVar[str] = "kafka"
    guarantees: ClassVar[tuple[str, ...]] = ("exactly-once", "at-least-once")
    same_key: ClassVar[str] = "append"
    deletes: ClassVar[str] = "tombstone"
    atomic: ClassVar[bool] = True
    takes: ClassVar[str] = "records"
    # The connector is on every session's class path.
    artifacts: ClassVar[tuple[str, ...]] = ()

    @property
    def target(self) -> str:
        """The topic."""
        return f"topic {self.topic}"

    def settings(self, _servers: Servers | None) -> dict[str, str]:
        """Name the topic; the brokers' address is the query's own."""
        stamped = {"stamped": "true"} if self.is_stamped else {}
        return {"topic": self.topic, **stamped}


def kafka(
    topic: str,
    *,
    key: str | None = None,
    format: str = "json",
) -> KafkaSink:
    """Write to a topic.

    Args:
        topic: The topic's name; it is made if it is missing.
        key: The column that keys the records; by default the events' own key.
        format: ``json``, or with a schema registry ``avro``, ``protobuf`` or
            ``json-schema``.

    Raises:
        StepError: [topic-name-refused] Kafka does not allow the name;
            [topic-reserved] headrace keeps its own records there.
        SchemaError: [format-unknown] there is no such format.
    """
    where = declared_at()
    require_topic_name(topic, where)
    require_writable_topic(topic, where)
    require_format(format, where)
    return KafkaSink(topic, key, format, where)
