"""One pipeline, from Kafka into Redis, OpenSearch and Kafka at once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from confluent_kafka import Consumer, Producer
from opensearchpy import OpenSearch
from pyspark.sql import SparkSession

from headrace import DeliveryError, Pipeline, event, kafka, sinks
from headrace.log import writer_settings
from headrace.runtime.run import Conditions, start
from headrace.services.addresses import Addresses
from support.harness.messages import value_of
from support.harness.numbered_events import create


@event(key="card")
class Payment:
    card: str
    number: int
    cents: int


class Project:
    """A pipeline of three sinks, its input, and what each sink holds."""

    def __init__(
        self, spark: SparkSession, bootstrap: str, servers: Addresses, home: Path
    ) -> None:
        self.name = f"p{uuid.uuid4().hex[:8]}"
        self._spark = spark
        self._bootstrap = bootstrap
        self._checkpoint = str(home / "checkpoint")
        self._servers = servers
        for topic in ("in", "out", "dead-letters"):
            create(bootstrap, f"{self.name}.{topic}", 1)
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
            numbers.append(json.loads(value_of(message))["number"])
        consumer.close()
        assert message is not None
        return numbers


@pytest.fixture(scope="module")
def opensearch(opensearch_address: str) -> Iterator[OpenSearch]:
    with OpenSearch(opensearch_address) as client:
        yield client


@pytest.fixture
def project(
    spark: SparkSession,
    bootstrap: str,
    redis_address: str,
    opensearch_address: str,
    addresses: Addresses,
    tmp_path: Path,
) -> Project:
    return Project(spark, bootstrap, addresses, tmp_path)


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
    card: dict[str, object] = {"type": "keyword", "ignore_above": 100}
    opensearch.indices.put_mapping(index=name, body={"properties": {"card": card}})
    project.feed(payment("b", 4))
    project.run()
    assert project.in_redis() == {"a": 2, long: 3, "b": 4}
    assert sorted(project.in_opensearch().values()) == [2, 3, 4]
    assert project.in_kafka() == [1, 2, 3, 4]
