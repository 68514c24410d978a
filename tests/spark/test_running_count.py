"""The operator in real streaming queries, beside a model in plain Python."""

from __future__ import annotations

import tempfile
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace._spark import running_count

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from support.harness.feed import Feed


def by_k(df: DataFrame) -> DataFrame:
    return running_count(df, "k")


def model(batches: list[list[str | None]]) -> list[list[tuple[str | None, int]]]:
    """What each batch should give: its keys, with their counts up to then."""
    so_far: Counter[str | None] = Counter()
    given = []
    for batch in batches:
        so_far.update(batch)
        given.append(sorted(((key, so_far[key]) for key in set(batch)), key=repr))
    return given


@pytest.mark.parametrize("mode", ["append", "update"])
def test_each_batch_gives_the_counts_so_far_of_the_keys_in_it(
    feed: Feed, mode: str
) -> None:
    feed.add({"k": "ann"}, {"k": "bob"}, {"k": "ann"})
    feed.add({"k": "ann"})

    assert feed.run(by_k, mode) == [[("ann", 2), ("bob", 1)], [("ann", 3)]]


def test_a_restarted_query_goes_on_counting(feed: Feed) -> None:
    feed.add({"k": "ann"}, {"k": "ann"})
    feed.run(by_k)
    feed.add({"k": "ann"}, {"k": "bob"})

    assert feed.run(by_k)[1:] == [[("ann", 3), ("bob", 1)]]


def test_counts_survive_renaming_the_key_column(feed: Feed) -> None:
    feed.add({"k": "ann"})
    feed.run(by_k)
    feed.add({"k": "ann"})

    def renamed(df: DataFrame) -> DataFrame:
        return running_count(df.withColumnRenamed("k", "user.name"), "user.name")

    assert feed.run(renamed)[1:] == [[("ann", 2)]]


def test_rows_without_a_key_are_counted_together(feed: Feed) -> None:
    feed.add({"k": None}, {"k": "ann"})
    feed.add({"k": None}, {})

    assert feed.run(by_k) == [[("ann", 1), (None, 1)], [(None, 3)]]


def test_one_operator_can_feed_another(feed: Feed) -> None:
    feed.add({"k": "ann"}, {"k": "ann"})
    feed.add({"k": "ann"})

    def twice(df: DataFrame) -> DataFrame:
        return by_k(by_k(df).select("k"))

    assert feed.run(twice) == [[("ann", 1)], [("ann", 2)]]


@settings(max_examples=4, deadline=None, derandomize=True)
@given(
    st.lists(
        st.lists(st.none() | st.sampled_from(["a", "b", "é", ""]), min_size=1),
        min_size=2,
        max_size=4,
    ),
    st.integers(min_value=0, max_value=3),
)
def test_spark_agrees_with_the_model_wherever_it_is_restarted(
    feed_in: Callable[[Path], Feed], batches: list[list[str | None]], restart: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        feed = feed_in(Path(directory))
        for number, batch in enumerate(batches):
            feed.add(*({"k": key} for key in batch))
            if number == restart:
                feed.run(by_k)

        assert feed.run(by_k) == model(batches)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", "ann"),
        ("bigint", 2**40),
        ("decimal(10,2)", Decimal("1.50")),
        ("date", date(2026, 3, 29)),
        ("timestamp", datetime(2026, 3, 29, 1, 2, 3, 456789, tzinfo=UTC)),
        ("binary", b"\x00\xff"),
    ],
)
def test_the_key_keeps_its_type(spark: SparkSession, kind: str, value: Any) -> None:
    rows = spark.createDataFrame([(value,), (value,)], f"k {kind}")

    counts = running_count(rows, "k")

    assert counts.dtypes == [("k", kind), ("count", "bigint")]
    assert counts.join(rows.distinct(), "k").select("count").first() == (2,)
