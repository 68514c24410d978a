"""What is there twice in a topic, and what is out of order."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.log import StoredEvent
from headrace.ops.duplicates import count_duplicates
from headrace.ops.order import look_at_order
from headrace.ops.repeats import Recent
from headrace.ops.spreading import Spot, Spreading

START = datetime(2026, 3, 1, 10, tzinfo=UTC)


def record(offset: int, id_: object, *, partition: int = 0, at: int = 0) -> StoredEvent:
    moment = (START + timedelta(seconds=at)).isoformat()
    value = json.dumps({"id": id_, "at": moment}).encode()
    return StoredEvent("t", partition, offset, at * 1000, b"k", value, ())


def test_ids_that_are_there_twice_are_counted_with_their_places() -> None:
    events = [record(0, "a"), record(1, "b"), record(2, "a"), record(3, None)]
    events += [record(0, "a", partition=1), record(1, 7, partition=1)]

    found = count_duplicates([events[:3], [], events[3:]], "id")

    assert (found.records, found.ids, found.without_id) == (5, 3, 1)
    assert (found.repeated, found.surplus) == (1, 2)
    assert found.examples == {"a": ["0:0", "0:2", "1:0"]}


def test_without_a_column_the_key_is_the_id() -> None:
    found = count_duplicates([[record(0, "a"), record(1, "b")]], None)

    assert (found.ids, found.repeated) == (1, 1)


def test_values_that_are_no_rows_have_no_id() -> None:
    values = (None, b"[1]", b"text", b"\xff", b'{"other": 1}')
    events = [StoredEvent("t", 0, n, 0, b"k", v, ()) for n, v in enumerate(values)]

    assert count_duplicates([events], "id").without_id == len(values)


def test_an_id_of_any_length_is_told_apart_from_others() -> None:
    long = ["x" * 5000 + end for end in ("a", "b", "a")]

    found = count_duplicates([[record(n, i) for n, i in enumerate(long)]], "id")

    assert (found.ids, found.repeated) == (2, 1)


@settings(deadline=None, derandomize=True, database=None)
@given(st.lists(st.text(max_size=2)))
def test_duplicates_are_those_of_a_counter(ids: list[str]) -> None:
    found = count_duplicates([[record(n, i) for n, i in enumerate(ids)]], "id")

    counts = Counter(ids)
    assert found.ids == len(counts)
    assert found.repeated == sum(count > 1 for count in counts.values())
    assert found.surplus == len(ids) - len(counts)


@settings(deadline=None, derandomize=True, database=None)
@given(st.lists(st.integers(0, 40), max_size=200), st.integers(1, 100))
def test_files_that_are_too_large_are_spread_again(
    ids: list[int], largest: int
) -> None:
    with Spreading(largest=largest) as spread:
        for offset, number in enumerate(ids):
            spread.add(str(number).encode(), Spot(0, offset))
        found = dict(spread.by_id())

    assert {int(name): len(spots) for name, spots in found.items()} == Counter(ids)
    assert all(spots == sorted(spots) for spots in found.values())


def test_other_ids_in_between_are_no_disorder_within_an_id() -> None:
    events = [record(0, "a", at=5), record(1, "b", at=1), record(2, "a", at=6)]

    found = look_at_order([events], "id", "at")

    assert (found.records, found.behind_in_partition) == (3, 1)
    assert (found.behind_in_id, found.scattered, found.examples) == (0, 0, {})


def test_an_id_whose_time_goes_back_is_named_with_how_far() -> None:
    events = [record(n, "a", at=at) for n, at in enumerate((5, 9, 6, 7, 10))]

    found = look_at_order([events], "id", "at")

    assert (found.behind_in_id, found.furthest_ms) == (2, 3000)
    assert found.examples == {"a": ["0:2", "0:3"]}


def test_an_id_in_two_partitions_has_no_order() -> None:
    events = [record(4, "a", at=5), record(5, "a", at=6)]
    events += [record(9, "a", partition=1, at=1)]

    found = look_at_order([events], "id", None)

    assert (found.scattered, found.behind_in_id) == (1, 0)
    assert found.examples == {"a": ["0:4", "1:9"]}


def test_a_record_without_a_time_is_left_out() -> None:
    events = [record(0, "a"), record(1, "a")]

    assert look_at_order([events], "id", "gone").without == 2


@settings(deadline=None, derandomize=True, database=None)
@given(st.lists(st.integers(0, 30), max_size=60))
def test_the_last_ids_are_remembered_and_a_new_one_is_never_a_repeat(
    ids: list[int],
) -> None:
    recent = Recent(5)
    order: dict[int, None] = {}
    for number in ids:
        repeats = recent.repeats(str(number).encode())

        assert not repeats or number in order
        assert repeats or number not in list(order)[-5:]
        if not repeats:
            order.pop(number, None)
            order[number] = None
