"""Rows in memory are there by name; the console shows what passes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, event, kafka, sinks
from headrace.errors import DeliveryError
from headrace.sinks import read_memory
from headrace.testing import Rig
from support.harness.handing import Handing

COLUMNS = "id bigint, name string"


@event(key="id")
class Named:
    id: int
    name: str


def rows(handing: Handing) -> list[tuple[Any, ...]]:
    found = read_memory(handing.spark, handing.pipeline, "copy")
    return [tuple(row) for row in found.collect()]


def test_rows_are_in_memory_in_their_order(spark: SparkSession, tmp_path: Path) -> None:
    handing = Handing(spark, tmp_path, sinks.memory(), columns=COLUMNS, key="id")
    handing.deliver(0, [(2, "b"), (1, "a")])
    handing.deliver(1, [(0, "c")])

    assert rows(handing) == [(2, "b"), (1, "a"), (0, "c")]


def test_with_a_key_memory_holds_the_last_row_of_each(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = sinks.memory(key="id")
    handing = Handing(spark, tmp_path, sink, columns=COLUMNS, key="id")
    handing.deliver(0, [(1, "a"), (2, "b"), (1, "c")])
    handing.deliver(1, [(3, "d")], deleted=["2", "9"])

    assert rows(handing) == [(1, "c"), (3, "d")]


def test_memory_has_a_limit_and_says_so(spark: SparkSession, tmp_path: Path) -> None:
    sink = sinks.memory(most=3)
    handing = Handing(spark, tmp_path, sink, columns=COLUMNS, key="id")
    handing.deliver(0, [(1, "a"), (2, "b")])
    with pytest.raises(DeliveryError, match="memory-full"):
        handing.deliver(1, [(3, "c"), (4, "d")])

    assert rows(handing) == [(1, "a"), (2, "b")]


def test_another_checkpoint_begins_anew(spark: SparkSession, tmp_path: Path) -> None:
    handing = Handing(spark, tmp_path, sinks.memory(), columns=COLUMNS, key="id")
    handing.deliver(0, [(1, "a")])
    handing.begin_checkpoint("second")
    handing.deliver(0, [(2, "b")])

    assert rows(handing) == [(2, "b")]


def test_a_process_that_remembers_nothing_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    handing = Handing(spark, tmp_path, sinks.memory(), columns=COLUMNS, key="id")
    handing.deliver(41, [(1, "a")])

    assert rows(handing) == [(1, "a")]


def test_what_was_never_written_is_not_in_memory(spark: SparkSession) -> None:
    with pytest.raises(DeliveryError, match="nothing-written"):
        read_memory(spark, "nobody", "nothing")


def test_a_rig_keeps_rows_in_memory_too(spark: SparkSession) -> None:
    pipeline = Pipeline("remembered")
    names = pipeline.read(kafka("names", Named))
    pipeline.write("all", names, sinks.memory())
    pipeline.write("latest", names.where("id < 2"), sinks.memory(key="id"))

    with Rig(pipeline, spark) as rig:
        rig.feed("names", Named(1, "a"), Named(2, "b"))
        rig.feed("names", Named(1, "c"))
        rig.crash()
        assert rig.rows("all", "name") == [("a",), ("b",), ("c",)]

    every = read_memory(spark, "remembered", "all").collect()
    latest = read_memory(spark, "remembered", "latest").collect()
    assert [tuple(row) for row in every] == [(1, "a"), (2, "b"), (1, "c")]
    assert [tuple(row) for row in latest] == [(1, "c")]


@pytest.fixture
def printed(spark: SparkSession) -> Iterator[Any]:
    """Catch what the driver's JVM prints."""
    jvm: Any = spark._jvm
    caught = jvm.java.io.ByteArrayOutputStream()
    before = jvm.System.out
    jvm.System.setOut(jvm.java.io.PrintStream(caught, True, "UTF-8"))
    yield caught
    jvm.System.setOut(before)


def test_the_console_shows_the_first_rows_of_each_batch(
    spark: SparkSession, tmp_path: Path, printed: Any
) -> None:
    sink = sinks.console(rows=2)
    handing = Handing(spark, tmp_path, sink, columns=COLUMNS, key="id")
    handing.deliver(0, [(1, "a"), (2, "ä"), (3, "c")], deleted=["7"])
    handing.deliver(1, [])

    title, *table = printed.toString("UTF-8").splitlines()
    assert title == f"{handing.pipeline}.copy, batch 0: 4 rows, 1 of them deletions"
    assert [line for line in table if line] == [
        "+---+----+",
        "| id|name|",
        "+---+----+",
        "|  1|   a|",
        "|  2|   ä|",
        "+---+----+",
    ]


def test_a_repeated_batch_is_shown_again(
    spark: SparkSession, tmp_path: Path, printed: Any
) -> None:
    handing = Handing(spark, tmp_path, sinks.console(), columns=COLUMNS, key="id")
    handing.deliver(3, [(1, "a")])
    handing.deliver(3, [(1, "a")])

    assert printed.toString("UTF-8").count("|  1|   a|") == 2
