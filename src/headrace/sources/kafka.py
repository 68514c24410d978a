"""A topic as the source of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from headrace.durations import days
from headrace.errors import StepError
from headrace.schema.names import require_format, require_topic_name
from headrace.schema.origin import declared_at

STARTS = ("earliest", "latest")

AHEAD = days(1)
"""How far an event may lie ahead of its record, unless told otherwise."""


@dataclass(frozen=True)
class KafkaSource:
    """A topic, the class of its events, and how their bytes are written."""

    topic: str
    event: type
    format: str
    start: str
    ahead: timedelta | None
    where: str


def kafka(
    topic: str,
    event: type,
    *,
    format: str = "json",
    start: str = "earliest",
    ahead: timedelta | None = AHEAD,
) -> KafkaSource:
    """Read a topic of events.

    Args:
        topic: The topic's name.
        event: The class of its events, declared with ``@event``.
        format: ``json``, or with a schema registry ``avro``, ``protobuf`` or
            ``json-schema``.
        start: Where a pipeline begins that has no checkpoint yet: at the
            ``earliest`` or the ``latest`` event.
        ahead: How far an event's time may lie beyond its record's own timestamp. What
            is further ahead becomes a dead letter, as it would carry the watermark
            with it. None lets every time pass.

    Raises:
        StepError: [topic-name-refused] Kafka does not allow the name;
            [start-unknown] there is no such place; [duration-negative] `ahead` is
            below zero.
        SchemaError: [format-unknown] there is no such format.
    """
    where = declared_at()
    require_topic_name(topic, where)
    require_format(format, where)
    if start not in STARTS:
        raise StepError(
            "start-unknown",
            f'a stream cannot start at "{start}"',
            hint=f"choose {' or '.join(STARTS)}.",
            where=where,
        )
    if ahead is not None and ahead < timedelta(0):
        raise StepError(
            "duration-negative",
            f"ahead is {ahead.total_seconds():g} seconds",
            hint="give zero or more: hours(1); None lets every time pass.",
            where=where,
        )
    return KafkaSource(topic, event, format, start, ahead, where)
