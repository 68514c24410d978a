"""Sessions, sliding and counted windows and aggregates of the model, by example."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.cases.window_examples import (
    COUNTED,
    SECOND,
    SESSIONS,
    SLIDING,
    late,
    panes,
    run,
)
from support.models.window_model import Windowing, model
from support.models.window_model_aggregates import AGGREGATES
from support.models.window_model_terms import Event

REOPENED = replace(SESSIONS, late="refire", allowed=10 * SECOND)
SLID_AGAIN = replace(SLIDING, late="refire", allowed=5 * SECOND)


# -- sessions


def test_events_nearer_than_the_gap_are_one_session() -> None:
    assert panes(SESSIONS, (0, "1 5.999999 11"), (100, "")) == [
        [],
        ["!on-time#1 1-11: 2", "!on-time#1 11-16: 1"],
    ]


def test_an_event_joins_the_sessions_on_both_sides() -> None:
    assert panes(SESSIONS, (0, "1 9"), (2, "5"), (100, "")) == [
        [],
        [],
        ["!on-time#1 1-14: 3"],
    ]


def test_an_event_is_late_only_if_it_meets_no_living_session() -> None:
    batches = (0, "9"), (10, "4.5 5"), (100, "")

    assert late(SESSIONS, *batches) == [[], [], []]
    assert late(SESSIONS, (10, "5 5.001")) == [[("5", 5000)]]
    assert panes(SESSIONS, *batches) == [[], [], ["!on-time#1 4.5-14: 3"]]


def test_a_session_that_is_over_takes_no_event_in_the_same_batch() -> None:
    with_rows = panes(SESSIONS, (0, "1"), (6, "3"), (8, ""))
    without = panes(SESSIONS, (0, "1"), (6, ""), (6, "3"), (8, ""))

    assert with_rows == [[], ["!on-time#1 1-6: 1"], ["!on-time#1 3-8: 1"]]
    assert without == [with_rows[0], with_rows[1], [], with_rows[2]]


def test_a_session_that_is_extended_is_on_time_again() -> None:
    assert panes(REOPENED, (0, "1"), (7, "4"), (9, "")) == [
        [],
        ["on-time#1 1-6: 1"],
        ["on-time#2 1-9: 2"],
    ]


def test_a_session_that_is_not_extended_beyond_the_watermark_is_corrected() -> None:
    assert panes(REOPENED, (0, "1"), (8, "2 2.5")) == [
        [],
        ["on-time#1 1-6: 1", "late#2 1-7.5: 3"],
    ]


def test_a_marked_session_that_the_next_event_extends_is_not_corrected() -> None:
    assert panes(REOPENED, (0, "1"), (8, "2 6"), (11, "")) == [
        [],
        ["on-time#1 1-6: 1"],
        ["on-time#2 1-11: 3"],
    ]


@pytest.mark.parametrize("mode", ["accumulating", "retracting"])
def test_a_standing_pane_is_taken_back_when_its_session_begins_earlier(
    mode: str,
) -> None:
    step = replace(SESSIONS, panes=mode, early_events=1)

    assert panes(step, (0, "6"), (0, "3")) == [
        ["early#1 6-11: 1"],
        ["~early#1 6-11: 1", "early#2 3-11: 2"],
    ]


def test_it_is_taken_back_as_late_if_one_of_them_was_on_time() -> None:
    step = replace(REOPENED, early_events=1)

    assert panes(step, (0, "4 12"), (10, "8"), (10, "1")) == [
        ["early#1 4-9: 1", "early#1 12-17: 1"],
        [
            "on-time#2 4-9: 1",
            "~late#1 12-17: 1",
            "early#3 4-17: 3",
        ],
        ["~late#3 4-17: 3", "early#4 1-17: 4"],
    ]


def test_panes_that_are_taken_back_come_in_order_of_their_start() -> None:
    step = replace(SESSIONS, early_events=1, gap=8 * SECOND)

    assert panes(step, (0, "10"), (0, "19"), (0, "11.5")) == [
        ["early#1 10-18: 1"],
        ["early#1 19-27: 1"],
        ["~early#1 19-27: 1", "early#2 10-27: 3"],
    ]
    first, *rest = panes(step, (0, "7"), (0, "15"), (0, "0"), (0, "7.5"))[2:]
    assert first == ["~early#1 7-15: 1", "early#2 0-15: 2"]
    assert rest == [["~early#1 15-23: 1", "early#3 0-23: 4"]]


def test_no_pane_stands_in_discarding_mode() -> None:
    step = replace(SESSIONS, panes="discarding", early_events=1)

    assert panes(step, (0, "6"), (0, "3"), (100, "")) == [
        ["early#1 6-11: 1"],
        ["early#2 3-11: 1"],
        ["!on-time#3 3-11: 0"],
    ]


def test_a_pane_of_the_same_start_stays_until_it_is_replaced() -> None:
    step = replace(SESSIONS, panes="retracting", early_events=1)

    assert panes(step, (0, "3"), (0, "6")) == [
        ["early#1 3-8: 1"],
        ["~early#1 3-8: 1", "early#2 3-11: 2"],
    ]


def test_events_since_the_last_firing_add_up_in_a_merge() -> None:
    step = replace(SESSIONS, early_events=4)

    assert panes(step, (0, "1 2 9 9.5"), (0, "6")) == [[], ["early#1 1-14.5: 5"]]


def test_the_marks_of_a_session_move_with_its_start() -> None:
    step = replace(SESSIONS, early_time=4 * SECOND)

    assert panes(step, (0, "6"), (8, "4"), (9, "5"), (10, ""), (12, "")) == [
        [],
        [],
        [],
        [],
        ["!on-time#1 4-11: 3"],
    ]
    assert panes(step, (0, "6"), (7, "4 8"), (8, "")) == [
        [],
        [],
        ["early#1 4-13: 3"],
    ]


# -- sliding


def test_each_event_has_a_window_that_ends_with_it() -> None:
    assert panes(SLIDING, (0, "1 5 11 5"), (5, ""), (11, "")) == [
        [],
        ["!on-time#1 -9-1: 1", "!on-time#1 -5-5: 2", "!on-time#1 -5-5: 3"],
        ["!on-time#1 1-11: 3"],
    ]


def test_events_of_one_time_are_in_order_of_their_partitions() -> None:
    step = replace(SLIDING, aggregates=("sum",))

    assert panes(step, (0, "5=1/1"), (1, "5=2/0"), (5, "")) == [
        [],
        [],
        ["!on-time#1 -5-5: 2", "!on-time#1 -5-5: 3"],
    ]


def test_an_event_that_the_watermark_has_reached_is_late() -> None:
    assert late(SLIDING, (5, "5 5.001")) == [[("5", 0)]]
    assert late(SLID_AGAIN, (5, "0 0.001")) == [[("0", 5000)]]


def test_a_late_event_corrects_itself_and_those_after_it_within_reach() -> None:
    batches = (0, "3 5 12.9 20"), (13, "8.5 9"), (21, "")
    assert panes(SLID_AGAIN, *batches) == [
        [],
        [
            "on-time#1 -7-3: 1",
            "on-time#1 -5-5: 2",
            "on-time#1 2.9-12.9: 3",
            "late#1 -1.5-8.5: 3",
            "late#1 -1-9: 4",
            "late#2 2.9-12.9: 5",
        ],
        ["on-time#1 10-20: 2"],
    ]


def test_an_event_that_is_as_old_as_the_size_is_out_of_reach() -> None:
    step = replace(SLID_AGAIN, size=4 * SECOND)

    assert panes(step, (0, "6 9 10"), (10, "6/1"), (10, "5.9")) == [
        [],
        [
            *("on-time#1 2-6: 1", "on-time#1 5-9: 2", "on-time#1 6-10: 2"),
            *("late#1 2-6: 2", "late#2 5-9: 3"),
        ],
        ["late#1 1.9-5.9: 1", "late#2 2-6: 2", "late#2 2-6: 3", "late#3 5-9: 4"],
    ]


def test_an_early_pane_holds_what_is_known_then() -> None:
    step = replace(SLIDING, panes="retracting", early_events=7)

    assert panes(step, (0, "5 6"), (0, "4"), (5, "")) == [
        ["early#1 -5-5: 1", "early#1 -4-6: 2"],
        ["early#1 -6-4: 1"],
        [
            *("~on-time#1 -6-4: 1", "!on-time#2 -6-4: 1"),
            *("~on-time#1 -5-5: 1", "!on-time#2 -5-5: 2"),
        ],
    ]


# -- counted


def test_every_so_many_events_are_a_window() -> None:
    assert panes(COUNTED, (0, "5 4"), (50, "1 9"), (50, "2 3")) == [
        [],
        ["!on-time#1 1-5: 3"],
        ["!on-time#1 2-9: 3"],
    ]
    places = [o.panes[0].place for o in run(COUNTED, (0, "1 2 3"), (0, "1 2 3"))]
    assert places == ["1", "2"]


def test_a_counted_window_fires_early_but_not_when_it_is_full() -> None:
    step = replace(COUNTED, count=4, early_events=2, panes="retracting")

    assert panes(step, (0, "1 2 3 4")) == [
        ["early#1 1-2: 2", "~on-time#1 1-2: 2", "!on-time#2 1-4: 4"]
    ]


def test_a_discarding_counted_window_has_the_bounds_of_all_its_events() -> None:
    step = replace(COUNTED, early_events=2, panes="discarding")

    assert panes(step, (0, "1 2 3")) == [["early#1 1-2: 2", "!on-time#2 1-3: 1"]]


def test_without_times_the_order_is_that_of_partitions_and_offsets() -> None:
    step = replace(COUNTED, aggregates=("collect",), timed=False)

    assert panes(step, (0, "-=1/1 -=2 -=3/1")) == [["!on-time#1 -: [2, 1, 3]"]]


# -- aggregates


def event(at: int, amount: int | None, word: str | None) -> Event:
    return Event(at, amount, word)


@pytest.mark.parametrize(
    ("name", "expected", "of_none"),
    [
        ("count", 4, 0),
        ("sum", 12, None),
        ("min", 2, None),
        ("max", 5, None),
        ("avg", 4.0, None),
        ("first", 5, None),
        ("last", "b", None),
        ("distinct", 2, 0),
        ("collect", [5, 5, 2], []),
        ("top", [5, 5, 2], []),
        ("top_by", ["b", "a"], []),
        ("stddev", pytest.approx(3**0.5), None),
        ("kept", 21, 1),
    ],
)
def test_an_aggregate_is_computed(name: str, expected: object, of_none: object) -> None:
    events = [
        event(3, 2, None),
        event(1, 5, "b"),
        event(2, 5, "a"),
        event(4, None, "b"),
    ]
    step = Windowing("everything", early_events=4, aggregates=(name,))
    (outcome,) = model(step, [(0, events)])

    assert outcome.panes[0].values == (expected,)
    assert AGGREGATES[name].of([]) == of_none
