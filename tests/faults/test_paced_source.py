"""A source that keeps a pace: what comes soon waits, what comes alone does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace import Pipeline, event, kafka, seconds
from headrace.log import writer_settings
from headrace.plan.steps import Read
from headrace.runtime.reading import kafka_rows
from support.harness.numbered_events import create
from support.harness.waiting import wait_until

# So long that the next batch is held by what the batch before it took alone.
MOST = seconds(600)
# What a query rests that has found nothing for ten seconds.
REST_MS = 50


@event(key="name")
class Named:
    name: str


class Feed:
    """A topic, and the batches in which a query has read it."""

    def __init__(self, spark: SparkSession, bootstrap: str, home: Path) -> None:
        self.spark, self.bootstrap, self.home = spark, bootstrap, home
        self.topic = home.name
        self.batches: list[list[str]] = []
        # What is written while a batch is read that holds a name.
        self.during: dict[str, str] = {}
        create(bootstrap, self.topic, 1)

    def write(self, *names: str) -> None:
        producer = Producer(writer_settings(self.bootstrap))
        for name in names:
            producer.produce(self.topic, name)
        assert producer.flush(30) == 0

    def has_read(self, *names: str) -> None:
        def is_read() -> bool:
            return sorted(chain.from_iterable(self.batches)) == sorted(names)

        wait_until(f"{names} are read", is_read, seconds=120)

    @contextmanager
    def reading(
        self, pace: timedelta | None, most_per_batch: int | None = None
    ) -> Iterator[StreamingQuery]:
        """Read while it is open."""
        (read,) = _reads(self.topic)
        rows = kafka_rows(
            self.spark, read, self.bootstrap, most_per_batch=most_per_batch, pace=pace
        )
        query = (
            rows.writeStream.option("checkpointLocation", str(self.home / "cp"))
            .foreachBatch(self._take)
            .start()
        )
        try:
            yield query
        finally:
            query.stop()

    def _take(self, rows: DataFrame, _: int) -> None:
        found = rows.selectExpr("cast(value as string) name").collect()
        names = [row.name for row in found]
        self.write(*(self.during[name] for name in names if name in self.during))
        self.batches.append(names)


def _reads(topic: str) -> list[Read]:
    pipeline = Pipeline("paced")
    step = pipeline.read(kafka(topic, Named)).step
    assert isinstance(step, Read)
    return [step]


@pytest.fixture
def feed(spark: SparkSession, bootstrap: str, tmp_path: Path) -> Feed:
    home = tmp_path / f"paced-{tmp_path.parent.name}-{tmp_path.name}"
    home.mkdir()
    return Feed(spark, bootstrap, home)


def pauses(query: StreamingQuery) -> list[int]:
    """Give the pause before each batch with rows, in milliseconds."""
    told: list[Any] = [p for p in query.recentProgress if p["numInputRows"]]
    return [int(p["sources"][0]["metrics"]["pauseMs"]) for p in told]


def await_rest(query: StreamingQuery, batches: int) -> None:
    """Wait until so many batches are over, and the pause behind the last one too."""
    wait_until(
        f"{batches} batches are told of",
        lambda: len(pauses(query)) >= batches,
        seconds=120,
    )
    # A pause is a part of a look for input; what has found none sleeps between looks.
    seen: list[bool] = []

    def is_idle() -> bool:
        seen.append(not query.status["isTriggerActive"])
        return len(seen) > 1 and all(seen[-2:])

    wait_until("the query is idle", is_idle, seconds=120)


def test_what_comes_during_a_batch_waits_and_what_comes_after_a_silence_does_not(
    feed: Feed,
) -> None:
    feed.during = {"second": "third"}
    with feed.reading(MOST) as query:
        feed.write("first")
        feed.has_read("first")
        await_rest(query, 1)
        feed.write("second")
        feed.has_read("first", "second", "third")
        await_rest(query, 3)
        feed.write("fourth")
        feed.has_read("first", "second", "third", "fourth")
        wait_until("all batches are told of", lambda: len(pauses(query)) == 4)
        first, second, third, fourth = pauses(query)

    assert max(first, second, fourth) <= REST_MS < third


def test_a_backlog_is_read_without_a_pause(feed: Feed) -> None:
    names = [f"n{number}" for number in range(5)]
    feed.write(*names)
    with feed.reading(MOST, most_per_batch=1) as query:
        feed.has_read(*names)
        wait_until("all batches are told of", lambda: len(pauses(query)) == 5)

        assert pauses(query) == [0] * 5


def test_a_checkpoint_goes_on_with_and_without_a_pace(feed: Feed) -> None:
    for number, pace in enumerate([None, MOST, None]):
        feed.write(f"n{number}")
        with feed.reading(pace):
            feed.has_read(*(f"n{n}" for n in range(number + 1)))


def test_a_query_ends_in_the_middle_of_a_pause(feed: Feed) -> None:
    feed.during = {"first": "second"}
    feed.write("first")
    with feed.reading(MOST) as query:
        feed.has_read("first")

    assert query.exception() is None
    assert not query.isActive
