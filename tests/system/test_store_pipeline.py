"""One pipeline, from Kafka into Redis, OpenSearch and Kafka at once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
from confluent_kafka import Consumer, Producer
from opensearchpy import OpenSearch
from pyspark.sql import SparkSession

from headrace import DeliveryError, Pipeline, event, kafka, sinks
from headrace.artifacts import spark_groups
from headrace.log import administer, create_topic, writer_settings
from headrace.runtime.run import Conditions, start
from headrace.services import Stack
from headrace.testing import session


@event(key="card")
class Payment:
    card: str
    number: int
    cents: int


@dataclass(frozen=True)
class Servers:
    """The stack's servers."""

    stack: Stack

    def database(self, name: str) -> str:
        return f"{self.stack.address('postgres')}/{name}"

    def redis(self) -> str:
        return self.stack.address("redis")

    def opensearch(self) -> str:
        return self.stack.address("opensearch")


class Project:
    """A pipeline of three sinks, its input, and what each sink holds."""

    def __init__(self, stack: Stack, spark: SparkSession, home: Path) -> None:
        self.name = f"p{uuid.uuid4().hex[:8]}"
        self._spark = spark
        self._bootstrap = stack.address("kafka")
        self._checkpoint = str(home / "checkpoint")
        self._servers = Servers(stack)
        admin = administer(self._bootstrap, stack.site().run.cluster_id)
        for topic in ("in", "out", "dead-letters"):
            create_topic(admin, f"{self.name}.{topic}", partitions=1)
        self.pipeline = Pipeline(self.name)
        payments = self.pipeline.read(kafka(f"{self.name}.in", Payment))
        self.pipeline.write("cards", payments, sinks.redis(self.name))
        self.pipeline.write("alerts", payments, sinks.opensearch(self.name))
        self.pipeline.write("log", payments, sinks.kafka(f"{self.name}.out"))

    def feed(self, *values: dict[str, object] | bytes) -> None:
        producer = Producer(writer_settings(self._bootstrap))
        for value in values:
            text = value if isinstance(value, bytes) else json.dumps(value).encode()
            producer.produce(f"{self.name}.in", text)
        assert producer.flush(30) == 0

    def run(self) -> dict[str, int]:
        """Run to the input's end; give how many rows each sink was sent."""
        conditions = Conditions(
            self._bootstrap,
            self._checkpoint,
            until_caught_up=True,
            servers=self._servers,
        )
        delivering = start(self.pipeline, self._spark, conditions)
        delivering.await_end()
        return dict(delivering.report()["rows"])

    def in_redis(self) -> dict[str, int]:
        with redis.Redis.from_url(self._servers.redis()) as client:
            keys = client.scan_iter(f"{self.name}:*")
            rows = [client.hgetall(key) for key in keys]
        return {row[b"card"].decode(): int(row[b"number"]) for row in rows}

    def in_opensearch(self) -> dict[str, int]:
        with OpenSearch(self._servers.opensearch()) as client:
            client.indices.refresh(index=self.name)
            found = client.search(index=self.name)["hits"]["hits"]
        return {hit["_id"]: hit["_source"]["number"] for hit in found}

    def in_kafka(self) -> list[int]:
        settings = {
            "bootstrap.servers": self._bootstrap,
            "group.id": uuid.uuid4().hex,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
        consumer = Consumer(settings)
        consumer.subscribe([f"{self.name}.out"])
        numbers = []
        while (message := consumer.poll(30)) is not None and not message.error():
            numbers.append(json.loads(message.value())["number"])
        consumer.close()
        assert message is not None
        return numbers


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return session("headrace-tests", groups=spark_groups())


@pytest.fixture(scope="module")
def opensearch(stack: Stack) -> Iterator[OpenSearch]:
    with OpenSearch(stack.address("opensearch")) as client:
        yield client


@pytest.fixture
def project(stack: Stack, spark: SparkSession, tmp_path: Path) -> Project:
    return Project(stack, spark, tmp_path)


def payment(card: str, number: int) -> dict[str, object]:
    return {"card": card, "number": number, "cents": 1}


def test_a_batch_goes_to_redis_opensearch_and_kafka(project: Project) -> None:
    project.feed(payment("a", 1), payment("b", 2), payment("a", 3), b"no payment")
    rows = project.run()

    assert rows == {"cards": 3, "alerts": 3, "log": 3, "dead-letters": 1}
    assert project.in_redis() == project.in_opensearch() == {"a": 3, "b": 2}
    assert project.in_kafka() == [1, 2, 3]


def test_a_sink_that_fails_neither_corrupts_nor_doubles_the_others(
    project: Project, opensearch: OpenSearch
) -> None:
    name, long = project.name, "x" * 40_000
    fields = {"card": {"type": "keyword"}}
    body = {"mappings": {"properties": fields}, "aliases": {name: {}}}
    opensearch.indices.create(index=f"{name}-mine", body=body)
    project.feed(payment("a", 1))
    project.run()
    project.feed(payment("a", 2), payment(long, 3))

    with pytest.raises(DeliveryError, match="immense term") as refused:
        project.run()

    assert refused.value.slug == "row-refused"
    assert project.in_redis() == {"a": 2, long: 3}, "it was let finish"
    fields = {"card": {"type": "keyword", "ignore_above": 100}}
    opensearch.indices.put_mapping(index=name, body={"properties": fields})
    project.feed(payment("b", 4))
    project.run()
    assert project.in_redis() == {"a": 2, long: 3, "b": 4}
    assert sorted(project.in_opensearch().values()) == [2, 3, 4]
    assert project.in_kafka() == [1, 2, 3, 4]
