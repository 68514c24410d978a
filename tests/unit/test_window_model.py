"""The model of windows, rule by rule, on examples written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.cases.window_examples import (
    ASSIGNED,
    COUNTED,
    EVERYTHING,
    REFIRE,
    SECOND,
    SESSIONS,
    SLIDING,
    TUMBLING,
    late,
    panes,
    run,
    written,
)
from support.models.window_model import Event, Windowing, model

# -- which windows, and when they are on time


def test_a_window_fires_when_the_watermark_reaches_its_end() -> None:
    assert panes(TUMBLING, (0, "3 9.999999 10"), (9.999, ""), (10, "")) == [
        [],
        [],
        ["!on-time#1 0-10: 2"],
    ]


def test_windows_that_are_due_fire_by_end_and_start_before_the_rows() -> None:
    hopping = replace(
        TUMBLING, kind="hopping", every=5 * SECOND, late="refire", allowed=SECOND
    )

    assert panes(hopping, (0, "7 2"), (15.5, "14")) == [
        [],
        [
            "on-time#1 -5-5: 1",
            "on-time#1 0-10: 2",
            "on-time#1 5-15: 1",
            "late#2 5-15: 2",
        ],
    ]


def test_an_offset_moves_the_windows() -> None:
    shifted = replace(TUMBLING, offset=3 * SECOND)

    assert panes(shifted, (0, "2 3 13"), (30, "")) == [
        [],
        ["!on-time#1 -7-3: 1", "!on-time#1 3-13: 1", "!on-time#1 13-23: 1"],
    ]


def test_an_event_between_hopping_windows_is_late() -> None:
    gaps = replace(TUMBLING, kind="hopping", size=2 * SECOND, every=5 * SECOND)

    assert late(gaps, (0, "6 8")) == [[("8", -8000)]]
    assert panes(gaps, (0, "6 8"), (20, "")) == [[], ["!on-time#1 5-7: 1"]]


def test_assigned_windows_are_those_the_events_name() -> None:
    def event(begins: int | None, ends: int | None) -> Event:
        bounds = [None if at is None else at * SECOND for at in (begins, ends)]
        return Event(4 * SECOND, None, None, 0, 0, "t", *bounds)

    rows = [event(0, 9), event(5, 9), event(0, 9), event(0, 7)]
    nowhere = [event(None, 9), event(0, None), event(3, 3), event(9, 3)]
    first, second = model(ASSIGNED, [(1000, rows + nowhere), (9000, [])])

    assert [late.event for late in first.late] == nowhere
    assert [late.late_by_ms for late in first.late] == [-3000] * 4
    assert (first.added, first.panes) == (4, [])
    assert [written(pane) for pane in second.panes] == [
        "!on-time#1 0-7: 1",
        "!on-time#1 0-9: 2",
        "!on-time#1 5-9: 1",
    ]
    assert second.panes[0].place == (
        "1970-01-01T00:00:00.000000Z/1970-01-01T00:00:07.000000Z"
    )


def test_the_window_of_everything_has_no_end_and_fires_early_alone() -> None:
    assert panes(EVERYTHING, (0, "3 5 8"), (10**6, "4")) == [
        ["early#1 -: 2"],
        ["early#2 -: 4"],
    ]
    assert run(EVERYTHING, (0, "3 5"))[0].panes[0].place == "all"


def test_the_marks_of_everything_are_counted_from_1970_on() -> None:
    timed = replace(EVERYTHING, early_events=None, early_time=10 * SECOND)

    assert panes(timed, (0, "3"), (9.999, ""), (10, "4"), (15, ""), (20, "")) == [
        [],
        [],
        ["early#1 -: 1"],
        [],
        ["early#2 -: 2"],
    ]


# -- late events


def test_an_event_of_a_window_that_is_over_is_late_and_tells_by_how_much() -> None:
    batches = (0, "12"), (10.5, "9.999999 10 3"), (20, "10 20")

    assert late(TUMBLING, *batches) == [
        [],
        [("3", 7500), ("10", 500)],
        [("10", 10000)],
    ]


def test_late_is_by_whole_milliseconds_rounded_down() -> None:
    assert late(TUMBLING, (10, "9.999999 9.999 9.9985")) == [
        [("9.9985", 1), ("9.999", 1), ("10", 0)]
    ]


def test_an_event_without_a_time_is_late_by_nothing_and_comes_first() -> None:
    for step in (TUMBLING, SESSIONS, SLIDING, ASSIGNED, EVERYTHING):
        assert late(step, (10, "0 -"))[0][0] == ("", None)
        assert run(step, (10, "-"))[0].added == 0


def test_an_event_with_one_living_window_is_not_late() -> None:
    hopping = replace(TUMBLING, kind="hopping", every=5 * SECOND)
    batches = (12, "8"), (15, "")

    assert late(hopping, *batches) == [[], []]
    assert panes(hopping, *batches) == [[], ["!on-time#1 5-15: 1"]]


# -- corrections


def test_a_late_event_within_the_allowed_time_corrects_once_for_a_batch() -> None:
    assert panes(REFIRE, (0, "1"), (10, "2 3"), (19.999, "4"), (20, "5")) == [
        [],
        ["on-time#1 0-10: 1", "late#2 0-10: 3"],
        ["late#3 0-10: 4"],
        [],
    ]
    assert late(REFIRE, (20, "5")) == [[("5", 15000)]]


def test_a_window_whose_first_event_is_late_begins_with_a_correction() -> None:
    assert panes(REFIRE, (12, "5"), (13, "6"), (30, "")) == [
        ["late#1 0-10: 1"],
        ["late#2 0-10: 2"],
        [],
    ]


def test_a_window_that_the_watermark_jumps_over_still_fires_on_time() -> None:
    assert panes(REFIRE, (0, "1"), (500, "2")) == [[], ["on-time#1 0-10: 1"]]
    assert late(REFIRE, (0, "1"), (500, "2")) == [[], [("2", 498000)]]


# -- early panes


def test_enough_events_fire_a_window_at_once() -> None:
    early = replace(TUMBLING, early_events=2)

    assert panes(early, (0, "1 2 3"), (5, "4 5 6 7"), (10, "")) == [
        ["early#1 0-10: 2"],
        ["early#2 0-10: 4", "early#3 0-10: 6"],
        ["!on-time#4 0-10: 7"],
    ]


def test_an_event_in_several_windows_fires_them_by_their_ends() -> None:
    hopping = replace(TUMBLING, kind="hopping", every=5 * SECOND, early_events=1)

    assert panes(hopping, (0, "7")) == [["early#1 0-10: 1", "early#1 5-15: 1"]]


def test_corrections_do_not_wait_for_enough_events() -> None:
    early = replace(REFIRE, early_events=3)

    assert panes(early, (0, "1 2"), (10, "3")) == [
        [],
        ["on-time#1 0-10: 2", "late#2 0-10: 3"],
    ]


def test_marks_of_time_fire_once_and_only_with_new_events() -> None:
    early = replace(TUMBLING, early_time=2 * SECOND)
    batches = (0, "1"), (1.999, ""), (7, "3"), (7.9, ""), (8, ""), (9, "9"), (9, "")

    assert panes(early, *batches) == [
        [],
        [],
        ["early#1 0-10: 1"],
        [],
        ["early#2 0-10: 2"],
        [],
        [],
    ]


def test_a_mark_that_was_passed_before_the_event_came_does_not_fire_it() -> None:
    early = replace(TUMBLING, early_time=4 * SECOND)

    assert panes(early, (5, "6"), (5, ""), (7, ""), (8, "")) == [
        [],
        [],
        [],
        ["early#1 0-10: 1"],
    ]


def test_early_and_on_time_panes_that_are_due_are_mixed_by_their_ends() -> None:
    hopping = replace(TUMBLING, kind="hopping", every=5 * SECOND, early_time=4 * SECOND)

    assert panes(hopping, (0, "7"), (10, "")) == [
        [],
        ["!on-time#1 0-10: 1", "early#1 5-15: 1"],
    ]


# -- what panes hold


def test_discarding_panes_hold_the_events_since_the_last_one() -> None:
    step = replace(
        REFIRE, panes="discarding", early_events=2, aggregates=("count", "sum")
    )

    assert panes(step, (0, "1=1 2=2"), (10, "3=7")) == [
        ["early#1 0-10: 2 3"],
        ["on-time#2 0-10: 0 None", "late#3 0-10: 1 7"],
    ]


def test_retracting_panes_take_the_one_before_back() -> None:
    step = replace(REFIRE, panes="retracting", early_events=2)

    assert panes(step, (0, "1 2"), (10, "3")) == [
        ["early#1 0-10: 2"],
        [
            "~on-time#1 0-10: 2",
            "on-time#2 0-10: 2",
            "~late#2 0-10: 2",
            "late#3 0-10: 3",
        ],
    ]


def test_a_pane_is_final_if_nothing_can_correct_it() -> None:
    step = replace(TUMBLING, panes="retracting", early_events=1)

    assert panes(step, (0, "1"), (10, "")) == [
        ["early#1 0-10: 1"],
        ["~on-time#1 0-10: 1", "!on-time#2 0-10: 1"],
    ]


@pytest.mark.parametrize("mode", ["accumulating", "retracting"])
def test_a_suppressed_pane_takes_the_standing_one_back(mode: str) -> None:
    step = replace(REFIRE, panes=mode, early_events=1, having="odd")
    batches = (0, "1 2 3"), (10, "4"), (11, "5"), (12, "6 7")
    replaced = ["~on-time#2 0-10: 3"] if mode == "retracting" else []
    corrected = ["~late#4 0-10: 5"] if mode == "retracting" else []

    assert panes(step, *batches) == [
        ["early#1 0-10: 1", "~early#1 0-10: 1", "early#2 0-10: 3"],
        [*replaced, "on-time#3 0-10: 3", "~late#3 0-10: 3"],
        ["late#4 0-10: 5"],
        [*corrected, "late#5 0-10: 7"],
    ]


def test_with_discarding_panes_having_looks_at_the_new_events_alone() -> None:
    step = replace(TUMBLING, panes="discarding", early_events=2, having="sum_over_four")
    step = replace(step, aggregates=("sum",))

    assert panes(step, (0, "1=4 2"), (0, "3=5 4=-1 5=2 6=3"), (10, "")) == [
        [],
        ["early#1 0-10: 5"],
        [],
    ]


def test_a_suppressed_pane_is_a_firing() -> None:
    step = replace(TUMBLING, early_events=2, having="odd")

    assert panes(step, (0, "1 2 3"), (1, "4"), (10, "")) == [[], [], []]
    assert panes(step, (0, "1 2 3"), (10, "")) == [[], ["!on-time#1 0-10: 3"]]


# -- places


@pytest.mark.parametrize(
    ("step", "place"),
    [
        (TUMBLING, "1970-01-01T00:00:10.000000Z"),
        (SESSIONS, "1970-01-01T00:00:12.500000Z"),
        (SLIDING, "1970-01-01T00:00:12.500000Z/t/1/0"),
        (replace(COUNTED, count=1), "1"),
    ],
)
def test_a_window_has_a_place(step: Windowing, place: str) -> None:
    outcomes = run(step, (0, "12.5/1"), (100, ""))

    assert [pane.place for outcome in outcomes for pane in outcome.panes] == [place]
