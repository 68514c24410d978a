"""Made-up histories of metrics, and when alerts have to be on in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.ops import families as known
from headrace.ops.families import Family, Labels

STEP = 15
MINUTE = 60

# The value of a metric so many seconds after the start; None where it is not there.
Course = Callable[[int], float | None]


@dataclass(frozen=True)
class History:
    """A history of an hour.

    Args:
        rule: Whose alert it is about; no other may be on in it.
        courses: The metrics.
        on: The seconds at which the alert has to be on.
        off: The seconds at which it must not be.
    """

    rule: str
    courses: Mapping[Family, Course]
    on: tuple[int, ...]
    off: tuple[int, ...]

    def values(self, at: int) -> dict[Family, dict[Labels, float]]:
        found = {family: course(at) for family, course in self.courses.items()}
        return {f: {(): value} for f, value in found.items() if value is not None}


def steadily(per_second: float) -> Course:
    return lambda at: at * per_second


def between(begin: int, end: int, inside: Course, outside: Course) -> Course:
    return lambda at: inside(at) if begin <= at < end else outside(at)


def flat(value: float) -> Course:
    return lambda _at: value


def saw(least: Course, height: float, every: int) -> Course:
    """Rise while a batch runs, and fall when it ends."""
    return lambda at: (least(at) or 0) + height * (at % every) / every


NO_LAG = {known.LAG: flat(0)}

HISTORIES = {
    "lag that grows all the time": History(
        "lag-growing",
        {known.LAG: steadily(20)},
        on=(12 * MINUTE, 40 * MINUTE),
        off=(0, 5 * MINUTE, 9 * MINUTE),
    ),
    "lag that swings with each batch and stays": History(
        "lag-growing",
        {known.LAG: saw(flat(500), 50_000, 2 * MINUTE)},
        on=(),
        off=(10 * MINUTE, 20 * MINUTE, 59 * MINUTE),
    ),
    "lag that swings and grows underneath": History(
        "lag-growing",
        {known.LAG: saw(steadily(10), 50_000, 2 * MINUTE)},
        on=(15 * MINUTE, 59 * MINUTE),
        off=(5 * MINUTE,),
    ),
    "lag that grows and is worked off": History(
        "lag-growing",
        {
            known.LAG: between(
                20 * MINUTE,
                60 * MINUTE,
                lambda at: max(0, 24_000 - 20 * (at - 20 * MINUTE)),
                steadily(20),
            )
        },
        on=(15 * MINUTE, 19 * MINUTE),
        off=(35 * MINUTE, 59 * MINUTE),
    ),
    "a batch that hangs, and goes on": History(
        "batch-stalled",
        {
            known.LAG: between(5 * MINUTE, 20 * MINUTE, flat(7), flat(0)),
            known.BATCH_AGE: between(
                5 * MINUTE, 20 * MINUTE, lambda at: at - 5 * MINUTE, flat(1)
            ),
        },
        on=(11 * MINUTE, 19 * MINUTE),
        off=(4 * MINUTE, 9 * MINUTE, 23 * MINUTE),
    ),
    "nothing to do": History(
        "batch-stalled",
        {known.BATCH_AGE: steadily(1), **NO_LAG},
        on=(),
        off=(10 * MINUTE, 59 * MINUTE),
    ),
    "a watermark that one partition holds": History(
        "watermark-stalled",
        {
            known.EVENTS_IN: steadily(5),
            known.WATERMARK: between(
                20 * MINUTE, 40 * MINUTE, flat(20 * MINUTE), lambda at: at
            ),
        },
        on=(31 * MINUTE, 39 * MINUTE),
        off=(10 * MINUTE, 28 * MINUTE, 44 * MINUTE),
    ),
    "a watermark that stands while nothing comes": History(
        "watermark-stalled",
        {
            known.EVENTS_IN: lambda at: min(at, 5 * MINUTE),
            known.WATERMARK: lambda at: min(at, 5 * MINUTE),
        },
        on=(),
        off=(20 * MINUTE, 59 * MINUTE),
    ),
    "one event in fifty late": History(
        "late-events",
        {known.EVENTS_IN: steadily(50), known.LATE_EVENTS: steadily(1)},
        on=(1 * MINUTE, 59 * MINUTE),
        off=(0,),
    ),
    "two events in a thousand late": History(
        "late-events",
        {known.EVENTS_IN: steadily(500), known.LATE_EVENTS: steadily(1)},
        on=(),
        off=(1 * MINUTE, 59 * MINUTE),
    ),
    "dead letters, and then none": History(
        "dead-letters",
        {known.DEAD_LETTERS: lambda at: min(max(0, at - 5 * MINUTE), 60)},
        on=(6 * MINUTE, 15 * MINUTE),
        off=(4 * MINUTE, 20 * MINUTE),
    ),
    "a checkpoint that is slow once": History(
        "checkpoint-slow",
        {known.CHECKPOINT: between(10 * MINUTE, 11 * MINUTE, flat(30), flat(1))},
        on=(),
        off=(10 * MINUTE, 12 * MINUTE, 16 * MINUTE),
    ),
    "a checkpoint that stays slow, with one quick batch": History(
        "checkpoint-slow",
        {
            known.CHECKPOINT: between(
                30 * MINUTE,
                31 * MINUTE,
                flat(1),
                between(10 * MINUTE, 50 * MINUTE, flat(30), flat(1)),
            )
        },
        on=(16 * MINUTE, 30 * MINUTE + 30, 33 * MINUTE, 49 * MINUTE),
        off=(14 * MINUTE, 54 * MINUTE),
    ),
    "an id that comes twice": History(
        "duplicates-downstream",
        {known.DOWNSTREAM: lambda at: 0 if at < 5 * MINUTE else 1},
        on=(6 * MINUTE, 14 * MINUTE),
        off=(4 * MINUTE, 20 * MINUTE),
    ),
}
