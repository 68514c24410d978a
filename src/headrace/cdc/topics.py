"""The topics of a capture: made beforehand, measured, and removed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.errors import CaptureError

if TYPE_CHECKING:
    from confluent_kafka import Consumer

_SECONDS = 30.0
_QUESTION_SECONDS = 10.0
_SETTLING_SECONDS = 120.0
_BATCH = 1000
_WAIT_SECONDS = 0.5

# Changes are kept for good: a table is built from all of them.
FOREVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
COMPACT = {"cleanup.policy": "compact"}

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class LogRecord:
    """A record of a topic; `time` is when Kafka took it, in milliseconds."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    time: int


def make_topic(
    kafka: Mapping[str, Any], name: str, partitions: int, config: Mapping[str, str]
) -> bool:
    """Make a topic, and tell whether it is new.

    Raises:
        CaptureError: [capture-topic-refused] the cluster does not make it, or there
            is one with another number of partitions.
    """
    from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415
    from confluent_kafka.admin import AdminClient, NewTopic  # noqa: PLC0415

    admin = AdminClient(dict(kafka))
    wanted = NewTopic(name, partitions, -1, config=dict(config))
    try:
        admin.create_topics([wanted], operation_timeout=_SECONDS)[name].result()
    except KafkaException as error:
        cause: KafkaError = error.args[0]
        if cause.code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise _refused(name, cause.str()) from error
        there = len(ends_of(kafka, name))
        if there != partitions:
            detail = f"it has {there} partition(s), and {partitions} are asked for."
            raise _refused(name, detail) from error
        return False
    _settled(lambda: len(ends_of(kafka, name)) == partitions, f'topic "{name}"')
    return True


def _refused(name: str, detail: str) -> CaptureError:
    return CaptureError(
        "capture-topic-refused",
        f'topic "{name}" cannot hold the changes of a table',
        detail=detail,
        hint="a key stays in one partition only while their number stays: ask for as "
        "many as there are, or remove the topic.",
    )


def remove_topics(kafka: Mapping[str, Any], *names: str) -> None:
    """Remove topics; harmless where there is none."""
    from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415

    admin = AdminClient(dict(kafka))
    for name, done in admin.delete_topics([*names], operation_timeout=_SECONDS).items():
        try:
            done.result(_SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise _unreadable(name, error.args[0].str()) from error


def ends_of(kafka: Mapping[str, Any], topic: str) -> dict[int, int]:
    """Give where each partition of a topic ends; none if there is no such topic.

    Raises:
        CaptureError: [capture-log-unreadable] the cluster does not say.
    """
    from confluent_kafka import Consumer, KafkaException  # noqa: PLC0415

    consumer = Consumer({**kafka, "group.id": "headrace", **_QUIET})
    deadline = time.monotonic() + _SECONDS
    try:
        while True:
            try:
                return _ends(consumer, topic)
            except KafkaException as error:
                # So does a cluster answer while its brokers agree on a leader.
                if time.monotonic() > deadline:
                    raise _unreadable(topic, error.args[0].str()) from error
                time.sleep(0.1)
    finally:
        consumer.close()


def _ends(consumer: Consumer, topic: str) -> dict[int, int]:
    from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415
    from confluent_kafka import TopicPartition as Place  # noqa: PLC0415

    found = consumer.list_topics(topic, timeout=_QUESTION_SECONDS).topics[topic]
    if found.error is not None:
        if found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return {}
        raise KafkaException(found.error)
    ends = {}
    for number in sorted(found.partitions):
        place = Place(topic, number)
        ends[number] = consumer.get_watermark_offsets(place, _QUESTION_SECONDS)[1]
    return ends


def records_of(
    kafka: Mapping[str, Any], topic: str, begin: Mapping[int, int] | None = None
) -> Iterator[LogRecord]:
    """Give a topic's committed records, from given offsets to the end.

    The end is the one of the moment at which this is called. Records of a transaction
    that is open are waited for: who wrote it may have died, and is given up soon.

    Raises:
        CaptureError: [capture-log-unreadable] the cluster does not give them.
    """
    from confluent_kafka import Consumer, KafkaException, TopicPartition  # noqa: PLC0415

    ends = ends_of(kafka, topic)
    starts = {number: (begin or {}).get(number, 0) for number in ends}
    unread = {number for number, end in ends.items() if starts[number] < end}
    if not unread:
        return
    consumer = Consumer(
        {
            **kafka,
            **_QUIET,
            "group.id": "headrace",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    deadline = time.monotonic() + _SETTLING_SECONDS
    try:
        consumer.assign([TopicPartition(topic, n, starts[n]) for n in unread])
        while unread:
            messages = consumer.consume(_BATCH, _WAIT_SECONDS)
            for message in messages:
                record = _record(topic, message)
                if record.offset < ends[record.partition]:
                    yield record
            # Markers of transactions end a partition, and no consumer is given them.
            reached = consumer.position([TopicPartition(topic, n) for n in unread])
            unread -= {p.partition for p in reached if p.offset >= ends[p.partition]}
            if messages:
                deadline = time.monotonic() + _SETTLING_SECONDS
            elif time.monotonic() > deadline:
                raise _unreadable(topic, "it is silent before its end is reached.")
    except KafkaException as error:
        raise _unreadable(topic, error.args[0].str()) from error
    finally:
        consumer.close()


def _record(topic: str, message: Any) -> LogRecord:
    if message.error() is not None:
        raise _unreadable(topic, message.error().str())
    return LogRecord(
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        message.timestamp()[1],
    )


def _settled(condition: Callable[[], _Answer], what: str) -> _Answer:
    deadline = time.monotonic() + _SECONDS
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise _unreadable(what, "the brokers do not know of it in time.")
        time.sleep(0.05)
    return found


def _unreadable(topic: str, detail: str) -> CaptureError:
    return CaptureError(
        "capture-log-unreadable",
        f'the cluster does not let us work with topic "{topic}"',
        detail=detail,
        hint="`headrace status` shows what runs.",
    )


_QUIET = {"enable.auto.commit": False, "allow.auto.create.topics": False}
