"""How soon a query may begin its next batch."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as some

from headrace import milliseconds, minutes, seconds
from headrace._spark.pace import pause

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST = milliseconds(200)
NONE = timedelta(0)


def test_batches_of_few_events_take_a_quarter_of_the_time(spark: SparkSession) -> None:
    found = pause(spark, MOST, took=milliseconds(40), gap=milliseconds(160), records=16)

    assert found == milliseconds(120)


def test_a_batch_begins_no_later_than_that_moment_after_the_one_before(
    spark: SparkSession,
) -> None:
    found = pause(spark, MOST, took=milliseconds(70), gap=minutes(5), records=1)

    assert found == milliseconds(130)


def test_after_a_long_batch_there_is_no_pause(spark: SparkSession) -> None:
    assert pause(spark, MOST, took=milliseconds(200), gap=seconds(1), records=9) == NONE


def test_events_that_come_quickly_wait_for_no_more(spark: SparkSession) -> None:
    took = milliseconds(60)

    assert pause(spark, MOST, took=took, gap=took, records=60) == NONE
    assert pause(spark, MOST, took=took, gap=took, records=30) == milliseconds(40)


def test_what_was_left_behind_is_read_at_once(spark: SparkSession) -> None:
    took, gap = milliseconds(40), seconds(1)

    assert pause(spark, MOST, took=took, gap=gap, records=2, behind=True) == NONE


def test_a_batch_without_events_is_followed_by_no_pause(spark: SparkSession) -> None:
    assert pause(spark, MOST, took=milliseconds(40), gap=seconds(1), records=0) == NONE


_SPANS = some.integers(0, 100_000).map(milliseconds)


@settings(deadline=None, max_examples=100)
@given(took=_SPANS, gap=_SPANS, records=some.integers(0, 1_000_000))
def test_no_event_waits_past_that_moment(
    spark: SparkSession, took: timedelta, gap: timedelta, records: int
) -> None:
    found = pause(spark, MOST, took=took, gap=gap, records=records)

    assert NONE <= found <= max(NONE, MOST - took)
