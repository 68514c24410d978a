"""Consumer groups: how far each has come, who reads, and a way to read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription

from headrace.errors import LogError
from headrace.log.inventory import partitions_of_all
from headrace.log.offsets import Bounds, GroupOffsets, bounds_of
from headrace.log.patience import patiently
from headrace.log.places import Place, find_place, require_inside
from headrace.log.topics import require_partitions

_SECONDS = 30.0
_QUESTION_SECONDS = 10.0

# What a coordinator answers to a stranger's offsets while a group has members.
_MEMBERS_ARE_THERE = {
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.STALE_MEMBER_EPOCH,
}


@dataclass(frozen=True)
class Progress:
    """How far a group has come in one partition, and which member reads it."""

    topic: str
    partition: int
    committed: int | None
    end: int
    lag: int
    member: str | None


@dataclass(frozen=True)
class Group:
    """A consumer group; `state` is empty, stable, preparing-rebalance and so on."""

    name: str
    state: str
    members: int
    progress: tuple[Progress, ...]

    @property
    def lag(self) -> int:
        """How many events the group has still to read, in all it reads."""
        return sum(progress.lag for progress in self.progress)


@dataclass(frozen=True)
class Move:
    """Where a group would have read on in a partition, and where it does now."""

    partition: int
    before: int | None
    after: int


def list_groups(admin: AdminClient, bootstrap: str) -> list[Group]:
    """Give all consumer groups of a cluster by name.

    Raises:
        LogError: [groups-unknown] the cluster does not say;
            [offsets-unknown] it does not say how far they have come.
    """
    return _describe(admin, bootstrap, sorted(_names(admin)))


def describe_group(admin: AdminClient, bootstrap: str, name: str) -> Group:
    """Give one consumer group.

    Raises:
        LogError: [group-missing] there is no such group;
            [groups-unknown], [offsets-unknown] the cluster does not say.
    """
    if name not in _names(admin):
        raise LogError(
            "group-missing",
            f'there is no consumer group "{name}"',
            hint="`headrace groups list` shows the groups; one is there from the "
            "first time that it reads or commits.",
        )
    return _describe(admin, bootstrap, [name])[0]


def plan_reset(
    admin: AdminClient,
    group: Group,
    topic: str,
    place: Place,
    partitions: Iterable[int] = (),
) -> list[Move]:
    """Say where a group would read on, and change nothing.

    Args:
        admin: A client of the cluster.
        group: The group, as `describe_group` gives it.
        topic: The topic to read again, or to skip.
        place: Where to read on.
        partitions: The partitions that count; by default all of the topic.

    Raises:
        LogError: [group-active] the group has members;
            [topic-missing], [partition-missing] there is no such topic or partition;
            [place-outside] a partition does not have the offset.
    """
    if group.members:
        raise _active(group.name)
    numbers = require_partitions(admin, topic, partitions)
    bounds = bounds_of(admin, {topic: numbers})[topic]
    offsets = find_place(admin, topic, place, bounds)
    require_inside(offsets, bounds, topic)
    before = {p.partition: p.committed for p in group.progress if p.topic == topic}
    return [Move(p, before.get(p), offsets[p]) for p in numbers]


def reset_group(bootstrap: str, name: str, topic: str, moves: Iterable[Move]) -> None:
    """Have a group read on where a plan says.

    Raises:
        LogError: [group-active] the group has members;
            [reset-refused] the cluster says no, and why.
    """
    try:
        with GroupOffsets(bootstrap, name) as reading:
            reading.move(topic, {move.partition: move.after for move in moves})
    except KafkaException as error:
        if error.args[0].code() in _MEMBERS_ARE_THERE:
            raise _active(name) from error
        raise LogError(
            "reset-refused",
            f'the offsets of group "{name}" could not be set',
            detail=error.args[0].str(),
            hint="`headrace groups show` tells where the group is now.",
        ) from error


def _active(name: str) -> LogError:
    return LogError(
        "group-active",
        f'group "{name}" has members that read',
        detail="they would go on from where they are, and commit over the change.",
        hint="stop them, and wait until `headrace groups show` says that it is empty.",
    )


def _names(admin: AdminClient) -> set[str]:
    def ask() -> set[str]:
        asked = admin.list_consumer_groups(request_timeout=_QUESTION_SECONDS)
        found = asked.result(_SECONDS)
        # Each broker answers for the groups that it coordinates.
        for error in found.errors:
            raise error
        return {group.group_id for group in found.valid}

    try:
        return patiently(ask, seconds=_SECONDS)
    except (KafkaException, TimeoutError) as error:
        raise _unknown(error) from error


def _describe(admin: AdminClient, bootstrap: str, names: list[str]) -> list[Group]:
    if not names:
        return []

    def ask() -> dict[str, ConsumerGroupDescription]:
        answers = admin.describe_consumer_groups(
            names, request_timeout=_QUESTION_SECONDS
        )
        return {name: answer.result(_SECONDS) for name, answer in answers.items()}

    try:
        described = patiently(ask, seconds=_SECONDS)
    except (KafkaException, TimeoutError) as error:
        raise _unknown(error) from error
    topics = partitions_of_all(admin)
    everything = [
        TopicPartition(t, p) for t, numbers in topics.items() for p in numbers
    ]
    committed: dict[str, dict[TopicPartition, int]] = {}
    for name in names:
        with GroupOffsets(bootstrap, name) as reading:
            committed[name] = reading.committed_to(everything)
    read = {t: topics[t] for places in committed.values() for t in _topics(places)}
    for group in described.values():
        read |= {t: topics[t] for t in _topics(_readers(group)) if t in topics}
    # The ends are asked for last, so that no group seems to be ahead of them.
    bounds = bounds_of(admin, read)
    return [
        Group(
            name=name,
            state=described[name].state.name.lower().replace("_", "-"),
            members=len(described[name].members),
            progress=_progress(bounds, committed[name], _readers(described[name])),
        )
        for name in names
    ]


def _progress(
    bounds: Mapping[str, Bounds],
    committed: Mapping[TopicPartition, int],
    readers: Mapping[TopicPartition, str],
) -> tuple[Progress, ...]:
    """Join what was committed with who reads; a partition can have either alone."""
    found = []
    places = {(place.topic, place.partition) for place in (*committed, *readers)}
    for topic, partition in sorted(places):
        if topic not in bounds:
            continue
        place = TopicPartition(topic, partition)
        at, end = committed.get(place), bounds[topic].end[partition]
        behind = end - (bounds[topic].begin[partition] if at is None else at)
        found.append(
            Progress(topic, partition, at, end, max(0, behind), readers.get(place))
        )
    return tuple(found)


def _readers(group: ConsumerGroupDescription) -> dict[TopicPartition, str]:
    return {
        TopicPartition(place.topic, place.partition): member.member_id
        for member in group.members
        if member.assignment is not None
        for place in member.assignment.topic_partitions
    }


def _topics(places: Iterable[TopicPartition]) -> set[str]:
    return {place.topic for place in places}


def _unknown(error: Exception) -> LogError:
    return LogError(
        "groups-unknown",
        "the cluster does not say which consumer groups it has",
        detail=str(error) or "no answer came in time.",
        hint="ask again; `headrace status` shows whether the brokers are healthy.",
    )
