"""The inventory of a cluster: which topics it has, how large, and how they are set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
)

from headrace.errors import LogError
from headrace.log.offsets import bounds_of
from headrace.log.patience import patiently

_SECONDS = 30.0
_QUESTION_SECONDS = 10.0
_PROPAGATION_SECONDS = 5.0


@dataclass(frozen=True)
class TopicSummary:
    """A topic in one line; `events` counts offsets, so it is the most it can hold."""

    name: str
    partitions: int
    replicas: int
    events: int
    cleanup: str


def is_internal(name: str) -> bool:
    """Tell whether a topic belongs to Kafka itself, or to headrace's own services.

    Example:
        >>> is_internal("__consumer_offsets"), is_internal("payments")
        (True, False)
    """
    return name.startswith(("__", "headrace."))


def list_topics(admin: AdminClient, *, internal: bool = False) -> list[TopicSummary]:
    """Give the topics of a cluster by name.

    Raises:
        LogError: [topics-unknown] the cluster does not say;
            [offsets-unknown] it does not say where one begins or ends.
    """
    found = {
        name: partitions
        for name, partitions in partitions_of_all(admin).items()
        if internal or not is_internal(name)
    }
    bounds = bounds_of(admin, found)
    configs = _configs(admin, found)
    return [
        TopicSummary(
            name=name,
            partitions=len(partitions),
            replicas=max(partitions.values(), default=0),
            events=bounds[name].events,
            cleanup=str(configs[name]["cleanup.policy"].value),
        )
        for name, partitions in sorted(found.items())
    ]


def partitions_of_all(admin: AdminClient) -> dict[str, dict[int, int]]:
    """Give every topic of a cluster with the copies that each partition has.

    Raises:
        LogError: [topics-unknown] the cluster does not say.
    """
    try:
        topics = patiently(
            lambda: admin.list_topics(timeout=_QUESTION_SECONDS), seconds=_SECONDS
        )
    except KafkaException as error:
        raise _unknown(error) from error
    return {
        name: {p.id: len(p.replicas) for p in topic.partitions.values()}
        for name, topic in topics.topics.items()
    }


def topic_config(admin: AdminClient, name: str) -> dict[str, str]:
    """Give the settings that were made for this topic alone, by name.

    Raises:
        LogError: [topics-unknown] the cluster does not say.
    """
    entries = _configs(admin, [name])[name].values()
    return {
        entry.name: "(hidden)" if entry.is_sensitive else str(entry.value)
        for entry in sorted(entries, key=lambda entry: entry.name)
        if ConfigSource(entry.source) is ConfigSource.DYNAMIC_TOPIC_CONFIG
    }


def cleanup_policy(admin: AdminClient, name: str) -> str:
    """Give what a topic does with old events: ``delete``, ``compact`` or both.

    Raises:
        LogError: [topics-unknown] the cluster does not say.
    """
    return str(_configs(admin, [name])[name]["cleanup.policy"].value)


def _configs(
    admin: AdminClient, names: Iterable[str]
) -> dict[str, dict[str, ConfigEntry]]:
    wanted = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
    if not wanted:
        return {}

    def ask() -> dict[str, dict[str, ConfigEntry]]:
        answers = admin.describe_configs(wanted, request_timeout=_QUESTION_SECONDS)
        return {r.name: answer.result(_SECONDS) for r, answer in answers.items()}

    # A topic made a moment ago may be unknown still, and one may go meanwhile.
    unknown = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART})
    try:
        return patiently(ask, seconds=_PROPAGATION_SECONDS, also=unknown)
    except (KafkaException, TimeoutError) as error:
        raise _unknown(error) from error


def _unknown(error: Exception) -> LogError:
    return LogError(
        "topics-unknown",
        "the cluster does not say which topics it has, and how they are set",
        detail=str(error) or "no answer came in time.",
        hint="ask again; `headrace status` shows whether the brokers are healthy.",
    )
