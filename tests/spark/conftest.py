"""One Spark session for the whole run, and a way to feed it batch by batch."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from trying import LAYOUT, settings

from headrace._spark import end, session
from headrace.artifacts import spark_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


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


@dataclass
class Feed:
    """A stream over a directory: one file is one micro-batch.

    Every `run` is a new query over the same checkpoint, so a second one is a
    restart: it finds its state in files alone.
    """

    spark: SparkSession
    directory: Path
    schema: str = "k string"
    batches: list[list[tuple[Any, ...]]] = field(default_factory=list)

    def add(self, *rows: dict[str, Any]) -> None:
        source = self.directory / "source"
        source.mkdir(exist_ok=True)
        number = len(list(source.iterdir()))
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        path = source / f"{number}.json"
        path.write_text(lines)
        # Spark takes the oldest file first, and two written at once are of one age.
        os.utime(path, (number, number))

    def run(
        self, step: Callable[[DataFrame], DataFrame], mode: str = "append"
    ) -> Sequence[list[tuple[Any, ...]]]:
        """Run until nothing is left; give what each batch since the start gave."""
        stream = self.spark.readStream.schema(self.schema).option(
            "maxFilesPerTrigger", "1"
        )

        def keep(rows: DataFrame, _: int) -> None:
            self.batches.append(sorted(map(tuple, rows.collect()), key=repr))

        query = (
            step(stream.json(str(self.directory / "source")))
            .writeStream.outputMode(mode)
            .option("checkpointLocation", str(self.directory / "checkpoint"))
            .trigger(availableNow=True)
            .foreachBatch(keep)
            .start()
        )
        query.awaitTermination()
        return self.batches


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
