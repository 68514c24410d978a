"""Offsets: where a log ends, how far a group has come, and the lag between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from headrace.errors import LogError
from headrace.log.cluster import client_settings
from headrace.log.patience import patiently

_SECONDS = 30.0

_Answer = TypeVar("_Answer")


def end_offsets(
    admin: AdminClient, topic: str, partitions: Iterable[int]
) -> dict[int, int]:
    """Give, per partition, the offset that the next event will have.

    Raises:
        LogError: [offsets-unknown] the cluster does not say.
    """
    wanted = {TopicPartition(topic, p): OffsetSpec.latest() for p in partitions}

    def ask() -> dict[int, int]:
        answers = admin.list_offsets(wanted)
        return {p.partition: a.result(_SECONDS).offset for p, a in answers.items()}

    return _answer(ask, topic)


class GroupOffsets:
    """How far a consumer group has come, seen from outside the group.

    It asks as a consumer that never subscribes, so it takes no partition from the
    group's members. The admin client's way to ask is not used: while a coordinator
    moves, librdkafka 2.16 ends the whole process there.

    Example:
        ``with GroupOffsets(bootstrap, "alerts") as alerts: alerts.committed("t", [0])``
    """

    def __init__(self, bootstrap: str, group: str) -> None:
        settings = {"group.id": group, "enable.auto.commit": False}
        self._consumer = Consumer({**client_settings(bootstrap), **settings})

    def __enter__(self) -> GroupOffsets:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster."""
        self._consumer.close()

    def committed(self, topic: str, partitions: Iterable[int]) -> dict[int, int]:
        """Give where the group will read on; a partition it never read is absent.

        Raises:
            LogError: [offsets-unknown] the cluster does not say.
        """
        wanted = [TopicPartition(topic, partition) for partition in partitions]
        places = _answer(lambda: self._consumer.committed(wanted, _SECONDS), topic)
        return {place.partition: place.offset for place in places if place.offset >= 0}


def lag(ends: Mapping[int, int], committed: Mapping[int, int]) -> dict[int, int]:
    """Give, per partition, how many events a group has still to read.

    A group that never read a partition has all of it before it, which is more than
    is left if retention took the beginning; the log's own tools count likewise.

    Example:
        >>> lag({0: 10, 1: 5}, {0: 7})
        {0: 3, 1: 5}
    """
    return {p: max(0, end - committed.get(p, 0)) for p, end in ends.items()}


def _answer(ask: Callable[[], _Answer], topic: str) -> _Answer:
    # A new topic is unknown to its leaders for a moment, or has none yet.
    unknown = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._NOENT})
    try:
        return patiently(ask, seconds=_SECONDS, also=unknown)
    except (KafkaException, TimeoutError) as error:
        raise LogError(
            "offsets-unknown",
            f'the offsets of topic "{topic}" could not be read',
            detail=str(error),
            hint="`headrace status` shows whether the brokers are healthy.",
        ) from error
