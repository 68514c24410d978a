"""Kafka as a sink: what a topic is given, and what it promises."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.schema.names import require_format, require_topic_name
from headrace.schema.origin import declared_at


@dataclass(frozen=True)
class KafkaSink:
    """A topic to write to; its records are keyed by one column."""

    topic: str
    key: str | None
    format: str
    where: str

    guarantees = ("exactly-once", "at-least-once")


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
        StepError: [topic-name-refused] Kafka does not allow the name.
        SchemaError: [format-unknown] there is no such format.
    """
    where = declared_at()
    require_topic_name(topic, where)
    require_format(format, where)
    return KafkaSink(topic, key, format, where)
