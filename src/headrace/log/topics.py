"""Topics: made on purpose, described as they are, removed on purpose."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.errors import LogError
from headrace.log.inventory import partitions_of_all
from headrace.log.offsets import end_offsets
from headrace.log.patience import patiently

_SECONDS = 30.0
_PROPAGATION_SECONDS = 5.0

COMPACTED = {
    # The last record of each key is kept for ever, and older ones go.
    "cleanup.policy": "compact",
    # Who follows closely sees every change of the last hour.
    "min.compaction.lag.ms": str(60 * 60 * 1000),
    # Who reads the whole topic has a week for it: until then deletions are told.
    "delete.retention.ms": str(7 * 24 * 60 * 60 * 1000),
}
"""The settings of a topic that is a table."""


@dataclass(frozen=True)
class Partition:
    """One partition of a topic: which broker leads it, which hold a live copy."""

    number: int
    leader: int | None
    in_sync: tuple[int, ...]


def create_topic(
    admin: AdminClient,
    name: str,
    *,
    partitions: int,
    replicas: int | None = None,
    config: Mapping[str, str] | None = None,
) -> None:
    """Make a topic, and return once it can be written and read.

    Args:
        admin: A client of the cluster, from `administer`.
        name: The topic's name.
        partitions: How many partitions; keys are spread over them.
        replicas: How many brokers hold each one; by default the cluster's choice.
        config: Topic settings as Kafka names them, such as ``retention.ms``.

    Raises:
        LogError: [topic-exists] there is one already;
            [topic-refused] the cluster says no, and why.
    """
    copies = -1 if replicas is None else replicas
    wanted = NewTopic(name, partitions, copies, config=dict(config or {}))
    try:
        admin.create_topics([wanted], operation_timeout=_SECONDS)[name].result()
    except KafkaException as error:
        cause: KafkaError = error.args[0]
        if cause.code() == KafkaError.TOPIC_ALREADY_EXISTS:
            raise LogError(
                "topic-exists",
                f'there is a topic "{name}" already',
                hint="use it, or choose another name.",
            ) from error
        raise LogError(
            "topic-refused",
            f'the cluster does not make topic "{name}"',
            detail=cause.str(),
        ) from error
    # The controller answers before the brokers know, so a client that starts at
    # once could be told that there is no such topic. Their leaders answer this:
    end_offsets(admin, name, range(partitions))


def describe_topic(admin: AdminClient, name: str) -> list[Partition]:
    """Give a topic's partitions in order.

    A topic that was made a moment ago may be unknown to some brokers still, so
    it is asked for again before it counts as missing.

    Raises:
        LogError: [topic-missing] there is no such topic.
    """
    unknown = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART})
    topic = TopicCollection([name])
    try:
        found = patiently(
            lambda: admin.describe_topics(topic)[name].result(_SECONDS),
            seconds=_PROPAGATION_SECONDS,
            also=unknown,
        )
    except KafkaException as error:
        raise LogError(
            "topic-missing",
            f'there is no topic "{name}"',
            detail=error.args[0].str(),
            hint="topics are made on purpose: a misspelt name does not make one.",
        ) from error
    return [
        Partition(
            number=partition.id,
            leader=partition.leader.id if partition.leader else None,
            in_sync=tuple(sorted(broker.id for broker in partition.isr)),
        )
        for partition in sorted(found.partitions, key=lambda p: p.id)
    ]


def require_partitions(
    admin: AdminClient, topic: str, wanted: Iterable[int] = ()
) -> list[int]:
    """Give the wanted partitions of a topic, or all of them if none is named.

    Raises:
        LogError: [topic-missing] there is no such topic;
            [partition-missing] it has no such partition.
    """
    there = [partition.number for partition in describe_topic(admin, topic)]
    chosen = sorted(set(wanted))
    for partition in chosen:
        if partition not in there:
            raise LogError(
                "partition-missing",
                f'topic "{topic}" has no partition {partition}',
                detail=f"its partitions are 0 to {there[-1]}.",
            )
    return chosen or there


def delete_topic(admin: AdminClient, name: str) -> None:
    """Remove a topic with all its events, and return once it is gone.

    Raises:
        LogError: [topic-missing] there is no such topic;
            [topic-kept] it is Kafka's own, or the cluster keeps it, and says why.
    """
    if name.startswith("__"):
        raise LogError(
            "topic-kept",
            f'topic "{name}" is Kafka\'s own',
            detail="the brokers keep what they know about groups and transactions "
            "in it.",
        )
    describe_topic(admin, name)
    try:
        admin.delete_topics([name], operation_timeout=_SECONDS)[name].result(_SECONDS)
    except KafkaException as error:
        raise LogError(
            "topic-kept",
            f'the cluster does not remove topic "{name}"',
            detail=error.args[0].str(),
        ) from error
    # The controller answers before the brokers know.
    deadline = time.monotonic() + _PROPAGATION_SECONDS
    while name in partitions_of_all(admin) and time.monotonic() < deadline:
        time.sleep(0.05)
