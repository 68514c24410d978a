"""What waiting costs: a thief goes on until stopped, or until the limit is reached."""

from __future__ import annotations

import doctest
import importlib
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import batches
import pytest
from batches import Habits, Seen, compare, next_start
from model import Model
from traffic import Traffic
from truth import Case

from support.cases.fraud_world import NOON, paid

MINUTE = timedelta(minutes=1)
TWICE = Case("travel", "a", (paid(0, 100), paid(30, 200), paid(40, 50, declined=True)))
SEEN = Seen(TWICE, usual_cents=100, since=NOON + timedelta(seconds=30))


@pytest.mark.parametrize(
    ("seconds", "lost"),
    [
        (0, 100),
        (29, 100),
        (30, 300),
        (599, 300),
        (600, 400),
        (630, 600),
        (90_000, 1000),
    ],
)
def test_a_thief_does_the_same_again_until_stopped_or_at_the_limit(
    seconds: float, lost: int
) -> None:
    stopped_at = NOON + timedelta(seconds=seconds)

    assert SEEN.lost(stopped_at, Habits(limit=10)) == lost


def test_a_thief_whom_nobody_stops_comes_to_the_limit() -> None:
    assert SEEN.lost(None, Habits(limit=10)) == 1000


@pytest.mark.parametrize(
    ("interval", "seconds", "start"),
    [(MINUTE, 30, 60), (MINUTE, 60, 60), (MINUTE, 60.001, 120), (60 * MINUTE, 1, 3600)],
)
def test_a_job_starts_by_the_clock(
    interval: timedelta, seconds: float, start: float
) -> None:
    since = NOON + timedelta(seconds=seconds)

    assert next_start(interval, since) == NOON + timedelta(seconds=start)


def test_who_looks_more_seldom_loses_more() -> None:
    model = Model.load(Path(batches.__file__).parent / "model.json")
    traffic = Traffic(seed=2, rate=4, seconds=4 * 3600, start=batches.MIDNIGHT)
    seen = batches.observe(traffic, model)
    ways = compare(seen, Habits(), timedelta(seconds=2))
    lost = [way.lost_cents for way in ways]

    assert [way.name for way in ways][::6] == ["stream", "nobody looks"]
    assert lost == sorted(lost)
    assert lost[0] < lost[4] / 2
    assert len({way.found for way in ways[:-1]}) == 1
    assert ways[0].found >= 0.9 * len(traffic.cases)


def test_the_picture_is_an_svg_and_the_table_has_a_line_for_each_way() -> None:
    ways = compare([SEEN], Habits(), timedelta(seconds=2))
    picture = ET.fromstring(batches.picture(ways))  # noqa: S314
    words = {element.text for element in picture.iter()}

    assert {way.name for way in ways} < words
    assert len(batches.table(ways, 1).splitlines()) == 1 + len(ways)


@pytest.mark.parametrize("module", ["bars", "people", "transactions"])
def test_the_examples_of_the_example_say_what_happens(module: str) -> None:
    tried = doctest.testmod(importlib.import_module(module))

    assert tried.attempted
    assert not tried.failed
