"""Kinds of windows and when they fire: what is taken, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace import (
    after,
    assigned,
    counted,
    days,
    everything,
    hopping,
    hours,
    minutes,
    refire,
    seconds,
    sessions,
    sliding,
    tumbling,
)
from headrace.windows.firing import Firing
from support.harness.refusals import refused

MINUTE = 60_000_000


def test_the_operator_is_told_sizes_in_microseconds() -> None:
    assert tumbling(minutes(5)).terms == {
        "size_us": 5 * MINUTE,
        "every_us": 5 * MINUTE,
        "offset_us": 0,
    }
    assert hopping(minutes(5), every=minutes(1), offset=seconds(90)).terms == {
        "size_us": 5 * MINUTE,
        "every_us": MINUTE,
        "offset_us": MINUTE // 2,
    }
    assert sliding(minutes(1)).terms == {"size_us": MINUTE}
    assert sessions(minutes(1)).terms == {"gap_us": MINUTE}
    assert counted(3).terms == {"count": 3}
    assert everything().terms == {}
    assert assigned(start="a", end="b").terms == {"start": "a", "end": "b"}
    own = tumbling(minutes(5), staggered=True)
    assert own.terms == {"size_us": 5 * MINUTE, "every_us": 5 * MINUTE}


def test_kinds_are_values() -> None:
    assert tumbling(minutes(60)) == tumbling(hours(1))
    one: object = tumbling(minutes(1))
    assert one != sliding(minutes(1))
    assert hash(sessions(minutes(1))) == hash(sessions(seconds(60)))


def test_an_offset_counts_within_one_hop() -> None:
    assert tumbling(days(1), offset=hours(-2)) == tumbling(days(1), offset=hours(22))
    assert tumbling(hours(1), offset=hours(3)) == tumbling(hours(1))


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (tumbling(minutes(5)), "tumbling 0:05:00"),
        (tumbling(days(1), offset=hours(22)), "tumbling 1 day, 0:00:00 shifted by "),
        (hopping(minutes(5), every=minutes(1)), "hopping 0:05:00 every 0:01:00"),
        (sliding(hours(1)), "sliding 1:00:00 up to each event"),
        (sessions(minutes(30)), "sessions with gaps of 0:30:00"),
        (counted(7), "counted, 7 events each"),
        (everything(), "everything"),
        (assigned(start="x", end="y"), "assigned, from x to y"),
    ],
    ids=lambda given: getattr(given, "name", ""),
)
def test_a_kind_is_told_in_words(kind: Any, told: str) -> None:
    assert kind.summary.startswith(told)


SIZED: dict[str, Callable[[Any], object]] = {
    "tumbling": tumbling,
    "hopping": lambda size: hopping(size, every=minutes(1)),
    "hops": lambda every: hopping(hours(1), every=every),
    "sliding": sliding,
    "sessions": sessions,
    "after": lambda time: after(time=time),
    "refire": refire,
}


@pytest.mark.parametrize("make", SIZED.values(), ids=SIZED)
def test_a_duration_is_above_zero(make: Callable[[Any], object]) -> None:
    for length in (timedelta(0), seconds(-1), timedelta(microseconds=0.4)):
        with refused("duration-not-positive"):
            make(length)


@pytest.mark.parametrize("make", SIZED.values(), ids=SIZED)
def test_a_duration_is_a_timedelta(make: Callable[[Any], object]) -> None:
    for length in (5, 1.5, "5 minutes", None) if make is not SIZED["after"] else (5,):
        with refused("duration-unreadable"):
            make(length)


@pytest.mark.parametrize("make", SIZED.values(), ids=SIZED)
def test_a_duration_ends_some_time(make: Callable[[Any], object]) -> None:
    with refused("duration-too-long") as caught:
        make(timedelta.max)

    assert "everything()" in (caught.value.hint or "")


def test_an_offset_is_a_timedelta() -> None:
    with refused("duration-unreadable"):
        tumbling(hours(1), offset=5)  # type: ignore[arg-type]


def test_windows_leave_no_gaps() -> None:
    assert hopping(minutes(5), every=minutes(5)).every == minutes(5)
    with refused("hop-beyond-size") as caught:
        hopping(minutes(5), every=minutes(6))

    assert "in no window" in (caught.value.detail or "")


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "3"])
def test_a_count_is_one_or_more(count: Any) -> None:
    with refused("count-below-one"):
        counted(count)
    with refused("count-below-one"):
        after(events=count)


def test_firing_early_needs_to_know_when() -> None:
    with refused("firing-empty"):
        after()


def test_firing_early_is_told_in_words() -> None:
    assert str(after(events=5)) == "after 5 events"
    assert str(after(time=minutes(1))) == "after 0:01:00"
    assert str(after(events=5, time=minutes(1))) == "after 5 events or 0:01:00"


@pytest.mark.parametrize(
    ("firing", "allowed", "keeps", "replaces"),
    [
        (Firing(None, "accumulating", "side-output"), 0, True, False),
        (Firing(None, "accumulating", "drop"), 0, False, False),
        (Firing(None, "retracting", refire(minutes(1))), 1, True, True),
        (Firing(None, "discarding", refire(minutes(1))), 1, True, False),
        (Firing(after(events=1), "accumulating", "drop"), 0, False, True),
        (Firing(after(events=1), "discarding", "drop"), 0, False, False),
    ],
)
def test_panes_replace_each_other_if_a_window_fires_again_and_keeps_its_events(
    firing: Firing, allowed: int, keeps: bool, replaces: bool
) -> None:
    assert firing.allowed == minutes(allowed)
    assert firing.keeps_late == keeps
    assert firing.replaces == replaces
