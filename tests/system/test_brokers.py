"""Three brokers, and two clusters on one machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.errors import LogError, ServiceError
from headrace.log import administer, client_settings
from headrace.services import Stack
from support.harness.messages import value_of
from support.harness.observe import headrace, status_of
from support.harness.stacks import servers
from support.harness.waiting import wait_until


@pytest.fixture(scope="module")
def trio() -> Iterator[Stack]:
    """Give a cluster of three brokers."""
    with servers() as stack:
        stack.up(["kafka"], brokers=3)
        yield stack


def admin_of(stack: Stack) -> AdminClient:
    return administer(stack.address("kafka"), stack.site().run.cluster_id)


def topics_of(stack: Stack) -> set[str]:
    # A name, as the client is let go with its last use.
    admin = admin_of(stack)
    return set(admin.list_topics(timeout=10).topics)


def create(stack: Stack, topic: NewTopic) -> None:
    # Held until the answer is there: an admin client that is let go gives up.
    admin = admin_of(stack)
    admin.create_topics([topic])[topic.topic].result(30)


def produce(stack: Stack, topic: str, *values: str) -> None:
    """Write with acks=all, and fail unless every value was taken."""
    settings = client_settings(stack.address("kafka"))
    failed: list[Any] = []
    producer = Producer(settings | {"acks": "all", "message.timeout.ms": 60_000})

    def keep(error: KafkaError | None, _message: Message) -> None:
        if error:
            failed.append(error)

    for value in values:
        producer.produce(topic, value, on_delivery=keep)
    assert producer.flush(70) == 0
    assert failed == []


def consume(stack: Stack, topic: str, count: int) -> list[bytes]:
    settings = client_settings(stack.address("kafka")) | {"group.id": "test_brokers"}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = consumer.consume(count, 30)
    consumer.close()
    return [value_of(message) for message in found]


def in_sync(stack: Stack, topic: str) -> set[int]:
    admin = admin_of(stack)
    found = admin.describe_topics(TopicCollection([topic]))[topic].result(30)
    return {node.id for node in found.partitions[0].isr}


def test_a_cluster_of_three_goes_on_without_one_and_takes_it_back(trio: Stack) -> None:
    path = trio.run_directory.path
    topic = NewTopic("spread", 1, 3, config={"min.insync.replicas": "2"})
    create(trio, topic)
    produce(trio, "spread", "with three")
    storage = (path / "kafka-2" / "data" / "meta.properties").read_text()

    os.kill(status_of(path)["kafka-2"]["pid"], signal.SIGKILL)
    produce(trio, "spread", "with two")
    without = status_of(path)
    again = headrace("up", "kafka", "--dir", path)

    assert {n: p["health"] for n, p in without.items()} == {
        "kafka-1": "unhealthy",
        "kafka-2": "dead",
        "kafka-3": "unhealthy",
    }
    assert again.returncode == 0, again.stderr
    wait_until("all in sync", lambda: in_sync(trio, "spread") == {1, 2, 3}, seconds=60)
    assert (path / "kafka-2" / "data" / "meta.properties").read_text() == storage
    assert status_of(path)["kafka-1"]["pid"] == without["kafka-1"]["pid"]
    assert consume(trio, "spread", 2) == [b"with three", b"with two"]


def test_a_misspelt_topic_is_an_error_and_not_a_topic(trio: Stack) -> None:
    settings = client_settings(trio.address("kafka"))
    producer = Producer(settings | {"message.timeout.ms": 1000})
    errors: list[Any] = []
    producer.produce("mispelt", "x", on_delivery=lambda e, _m: errors.append(e))
    producer.flush(20)

    assert [error is not None for error in errors] == [True]
    assert "mispelt" not in topics_of(trio)


def test_the_number_of_brokers_is_fixed(trio: Stack) -> None:
    with pytest.raises(ServiceError) as refused:
        trio.up(["kafka"], brokers=1)

    assert refused.value.slug == "brokers-fixed"


def test_two_clusters_on_one_machine_know_nothing_of_each_other(
    stack: Stack, trio: Stack
) -> None:
    create(trio, NewTopic("ours", 1, 3))

    assert stack.site().run.cluster_id != trio.site().run.cluster_id
    # The broker that is asked may not be the one that has made it.
    wait_until("all brokers know it", lambda: "ours" in topics_of(trio))
    assert "ours" not in topics_of(stack)


def test_a_cluster_is_not_administered_by_mistake(stack: Stack, trio: Stack) -> None:
    with pytest.raises(LogError) as refused:
        administer(stack.address("kafka"), trio.site().run.cluster_id)

    assert refused.value.slug == "cluster-mistaken"


def test_three_brokers_stop_without_force_and_leave_the_other_cluster_alone(
    stack: Stack, trio: Stack
) -> None:
    told: list[tuple[str, str]] = []

    stopped = trio.down(lambda service, news: told.append((service, news)))

    assert sorted(stopped) == ["kafka-1", "kafka-2", "kafka-3"]
    assert told == [("kafka", "stopped")]
    assert [process.health for process in stack.status()] == ["healthy"] * 6
