"""Each record of a batch counts once, however often its topic is read."""

from __future__ import annotations

from typing import Any

from headrace.runtime.reach import Reach

PAYMENTS = "KafkaV2[Subscribe[payments]]"
USERS = "KafkaV2[Subscribe[users]]"


def source(
    begin: int | None, end: int, *, rows: int = 0, latest: int | None = None
) -> dict[str, Any]:
    """Give what Spark tells of a source of one partition."""

    def places(offset: int | None) -> dict[str, Any] | None:
        return None if offset is None else {"payments": {"0": offset}}

    return {
        "description": PAYMENTS,
        "startOffset": places(begin),
        "endOffset": places(end),
        "latestOffset": places(end if latest is None else latest),
        "numInputRows": rows,
    }


def reach(read: dict[str, list[int]] | None, *sources: dict[str, Any]) -> Reach:
    found = Reach(read)
    for each in sources:
        found.add(each)
    return found


def test_a_topic_that_is_evaluated_several_times_counts_once() -> None:
    assert reach({PAYMENTS: [910]}, source(None, 910, rows=2730)).records == 910


def test_a_topic_that_several_sources_read_counts_once() -> None:
    both = reach({PAYMENTS: [10, 10]}, source(5, 15), source(5, 15, latest=18))

    assert (both.records, both.lag) == (10, 3)


def test_two_topics_are_added_up() -> None:
    users = source(0, 3) | {
        "description": USERS,
        "endOffset": {"users": {"0": 3}},
        "latestOffset": {"users": {"0": 4}},
    }
    both = reach({PAYMENTS: [10], USERS: [3]}, source(0, 10, latest=12), users)

    assert (both.records, both.lag) == (13, 3)
    assert both.offsets == {"payments": {"0": 10}, "users": {"0": 3}}


def test_the_ends_of_transactions_and_what_was_compacted_are_no_records() -> None:
    assert reach({PAYMENTS: [7]}, source(0, 30, rows=14)).records == 7


def test_sources_that_are_apart_count_what_either_has_read() -> None:
    assert reach({PAYMENTS: [20, 10]}, source(0, 20), source(15, 25)).records == 25
    assert reach({PAYMENTS: [20, 10]}, source(0, 20), source(90, 100)).records == 30


def test_a_record_waits_as_long_as_any_source_has_to_read_it() -> None:
    apart = reach(None, source(0, 20, latest=100), source(80, 90, latest=100))

    assert apart.lag == 80
    assert apart.offsets == {"payments": {"0": 20}}


def test_a_batch_without_input_has_no_records() -> None:
    assert reach({}, source(10, 10)).records == 0


def test_what_nobody_has_counted_is_what_spark_says() -> None:
    assert reach(None, source(0, 10, rows=20)).records == 20


def test_files_that_stand_for_a_topic_have_no_lag() -> None:
    files = {
        "description": "FileStreamSource[/tmp/payments]",
        "startOffset": None,
        "endOffset": {"logOffset": 0},
        "latestOffset": None,
        "numInputRows": 9,
    }
    found = reach({}, files)

    assert (found.records, found.lag, found.offsets) == (9, 0, {})
