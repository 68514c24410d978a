"""Offsets: where a log ends, how far a group has come, and the lag between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from headrace.errors import LogError
from headrace.log.cluster import client_settings
from headrace.log.patience import patiently

_SECONDS = 30.0
# One question; a broker that dies meanwhile does not answer it.
_QUESTION_SECONDS = 10.0
# A new topic is unknown to its leaders for a moment, or has none yet; after a
# broker's death others lead, and the client learns that by and by.
_NOT_YET_LED = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._NOENT,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.BROKER_NOT_AVAILABLE,
    }
)

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Bounds:
    """Where each partition of a topic begins, and which offset comes next in it."""

    begin: Mapping[int, int]
    end: Mapping[int, int]

    @property
    def events(self) -> int:
        """How many offsets there are; a compacted log holds fewer events."""
        return sum(end - self.begin[p] for p, end in self.end.items())


def end_offsets(
    admin: AdminClient,
    topic: str,
    partitions: Iterable[int],
    *,
    committed_only: bool = False,
) -> dict[int, int]:
    """Give, per partition, the offset that the next event will have.

    Args:
        admin: A client of the cluster.
        topic: The topic.
        partitions: The partitions that count.
        committed_only: End where the first open transaction begins.

    Raises:
        LogError: [offsets-unknown] the cluster does not say.
    """
    level = (
        IsolationLevel.READ_COMMITTED
        if committed_only
        else IsolationLevel.READ_UNCOMMITTED
    )
    wanted = {TopicPartition(topic, p): OffsetSpec.latest() for p in partitions}
    return _by_partition(_list_offsets(admin, wanted, level))


def bounds_of(
    admin: AdminClient, partitions: Mapping[str, Iterable[int]]
) -> dict[str, Bounds]:
    """Give the bounds of topics by name; their partitions must be known.

    Raises:
        LogError: [offsets-unknown] the cluster does not say.
    """
    wanted = [
        TopicPartition(t, p) for t, numbers in partitions.items() for p in numbers
    ]
    # The beginnings first: meanwhile the ends grow, and none lies before its own.
    begin = _list_offsets(admin, dict.fromkeys(wanted, OffsetSpec.earliest()))
    end = _list_offsets(admin, dict.fromkeys(wanted, OffsetSpec.latest()))
    return {
        topic: Bounds(
            {p.partition: n for p, n in begin.items() if p.topic == topic},
            {p.partition: n for p, n in end.items() if p.topic == topic},
        )
        for topic in partitions
    }


def offsets_at(
    admin: AdminClient, topic: str, partitions: Iterable[int], milliseconds: int
) -> dict[int, int]:
    """Give, per partition, the first offset of this time or later, if there is one.

    Raises:
        LogError: [offsets-unknown] the cluster does not say.
    """
    moment = OffsetSpec.for_timestamp(milliseconds)
    wanted = {TopicPartition(topic, p): moment for p in partitions}
    found = _by_partition(_list_offsets(admin, wanted))
    return {partition: offset for partition, offset in found.items() if offset >= 0}


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
        return _by_partition(self.committed_to(wanted))

    def committed_to(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Give the same for partitions of several topics at once.

        Raises:
            LogError: [offsets-unknown] the cluster does not say.
        """
        wanted = list(partitions)
        if not wanted:
            return {}

        def ask() -> list[TopicPartition]:
            places = self._consumer.committed(wanted, _SECONDS)
            for place in places:
                if place.error is not None:
                    raise KafkaException(place.error)
            return places

        places = _answer(ask, wanted)
        return {place: place.offset for place in places if place.offset >= 0}

    def move(self, topic: str, offsets: Mapping[int, int]) -> None:
        """Have the group read on at other offsets; it must have no members.

        The coordinator itself refuses while there are members, so none that
        joins in the meantime is disturbed.

        Raises:
            KafkaException: The coordinator does not take them.
        """
        wanted = [TopicPartition(topic, p, offset) for p, offset in offsets.items()]
        patiently(
            lambda: self._consumer.commit(offsets=wanted, asynchronous=False),
            seconds=_SECONDS,
            also=frozenset({KafkaError._WAIT_COORD}),
        )


def lag(ends: Mapping[int, int], committed: Mapping[int, int]) -> dict[int, int]:
    """Give, per partition, how many events a group has still to read.

    A group that never read a partition has all of it before it, which is more than
    is left if retention took the beginning; the log's own tools count likewise.

    Example:
        >>> lag({0: 10, 1: 5}, {0: 7})
        {0: 3, 1: 5}
    """
    return {p: max(0, end - committed.get(p, 0)) for p, end in ends.items()}


def _list_offsets(
    admin: AdminClient,
    wanted: Mapping[TopicPartition, OffsetSpec],
    level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> dict[TopicPartition, int]:
    if not wanted:
        return {}

    def ask() -> dict[TopicPartition, int]:
        answers = admin.list_offsets(
            dict(wanted), isolation_level=level, request_timeout=_QUESTION_SECONDS
        )
        try:
            return {place: a.result(_SECONDS).offset for place, a in answers.items()}
        except KafkaException:
            # A client that has met a new topic before its leaders were known keeps
            # to that for a while, unless it is made to ask for this very topic.
            for topic in {place.topic for place in wanted}:
                admin.list_topics(topic, timeout=_QUESTION_SECONDS)
            raise

    return _answer(ask, wanted)


def _by_partition(offsets: Mapping[TopicPartition, int]) -> dict[int, int]:
    return {place.partition: offset for place, offset in offsets.items()}


def _answer(ask: Callable[[], _Answer], about: Iterable[TopicPartition]) -> _Answer:
    try:
        return patiently(ask, seconds=_SECONDS, also=_NOT_YET_LED)
    except (KafkaException, TimeoutError) as error:
        topics = ", ".join(sorted({f'"{place.topic}"' for place in about}))
        raise LogError(
            "offsets-unknown",
            f"the offsets of topic {topics} could not be read",
            detail=str(error) or "no answer came in time.",
            hint="`headrace status` shows whether the brokers are healthy.",
        ) from error
