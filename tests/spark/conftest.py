"""One Spark session for the whole run, and a way to feed it batch by batch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from headrace._spark import end, session
from headrace.artifacts import spark_groups
from support.harness.feed import Feed
from support.harness.trying import LAYOUT, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    started = session(
        "headrace-tests",
        # Hundreds of small queries, each with classes of its own: the JVM's second
        # compiler would work for code that has been left behind.
        config={"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"},
        groups=[g for g in spark_groups() if g != "spark-kafka"],
    )
    yield started
    end(started)


@pytest.fixture(scope="session")
def feed_in(spark: SparkSession) -> Callable[[Path], Feed]:
    """Make a feed in a directory; for tests that need several."""
    return partial(Feed, spark)


@pytest.fixture
def feed(feed_in: Callable[[Path], Feed], tmp_path: Path) -> Feed:
    return feed_in(tmp_path)


@pytest.fixture
def one_partition(spark: SparkSession) -> Iterator[None]:
    """Each partition has a state store, and those take most of a small batch."""
    with settings(spark, {LAYOUT: "1"}):
        yield
