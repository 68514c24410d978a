"""Make streams that try a window step: out of order, late, repeated, idle, restarted.

Every function takes its choices from a `random.Random`. `histories` hands one in whose
choices hypothesis makes and shrinks; `seeded` takes a number, for many cases at once.
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple

from hypothesis import strategies as st

from support.models.window_model import Batch, Event, Windowing
from support.models.window_model_aggregates import AGGREGATES, HAVINGS
from support.models.window_model_terms import EPOCH, MICROSECOND

KINDS = (
    "tumbling",
    "hopping",
    "assigned",
    "everything",
    "sessions",
    "sliding",
    "counted",
)
# Those whose keys can be spread over parts.
SPREADABLE = ("tumbling", "hopping", "assigned")
START = (datetime(2026, 3, 1, 10, tzinfo=UTC) - EPOCH) // MICROSECOND
TICK = 1_000_000
# Beside whole ticks, a watermark's millisecond and an event's microsecond away.
EDGES = (0, 0, 0, 0, 0, -1, 1, -999, 999, 1000, -1000, 500_000)
EARLY_TIMES = (2 * TICK, 3 * TICK, 7 * TICK, 1_500_500)


@dataclass(frozen=True)
class History:
    """The batches of one query, which all cases share, and what happens to it.

    `clocks` has the watermark, in milliseconds, that each batch asks for: it holds from
    the next one on. `rows` has each batch's events by case, `dead` the number of its
    dead letters, and `then` what follows it: "batch", "restart" or "crash". With
    `parts` the engine spreads each key over so many.
    """

    step: Windowing
    clocks: Sequence[int]
    rows: Sequence[dict[int, list[Event]]]
    dead: Sequence[int]
    then: Sequence[str]
    batches_without_rows: bool = True
    parts: int = 0

    @property
    def watermarks(self) -> list[int]:
        """The watermark of each batch, where none without rows is put in between."""
        return [0, *itertools.accumulate(self.clocks[:-1], max)]

    def batches(self, case: int) -> list[Batch]:
        """Give what one case's model is to be fed with."""
        rows = (batch.get(case, []) for batch in self.rows)
        return list(zip(self.watermarks, rows, strict=True))

    def only(self, cases: Iterable[int]) -> History:
        """Leave all other cases out."""
        kept = set(cases)
        rows = [{c: e for c, e in batch.items() if c in kept} for batch in self.rows]
        return replace(self, rows=rows)


class Plan(NamedTuple):
    """What a step is to do, whatever its kind."""

    trigger: str
    panes: str
    late: str
    having: str | None


# The steps of the first seeds, so that a few of them try most of what there is.
PLANS = (
    Plan("none", "accumulating", "side-output", None),
    Plan("both", "accumulating", "refire", "odd"),
    Plan("events", "retracting", "refire", None),
    Plan("time", "discarding", "drop", "sum_over_four"),
)


def step_of(chance: random.Random, kind: str) -> Windowing:
    """Give a window step of a kind, with any trigger, panes and policy it can have."""
    plan = Plan(
        trigger=chance.choice(["none", "events", "events", "time", "both"]),
        panes=chance.choice(["accumulating", "retracting", "discarding"]),
        late=chance.choice(["drop", "side-output", "refire", "refire"]),
        having=chance.choice([None, None, *HAVINGS]),
    )
    return planned(chance, kind, plan)


def planned(chance: random.Random, kind: str, plan: Plan) -> Windowing:
    """Give a window step by a plan, as far as its kind goes along with it."""
    trigger, panes, late = plan.trigger, plan.panes, plan.late
    match kind:
        case "everything":
            trigger = "events" if trigger == "none" else trigger
        case "sliding":
            panes = "retracting" if panes == "discarding" else panes
            trigger = "none" if trigger == "none" else "events"
        case "counted":
            late = "side-output"
            trigger = "none" if trigger == "none" else "events"
    events, time = chance.randint(1, 3), chance.choice(EARLY_TIMES)
    allowed = chance.choice([4, 10]) * TICK + chance.choice([0, 0, 1, 500])
    step = Windowing(
        kind,
        early_events=events if trigger in {"events", "both"} else None,
        early_time=time if trigger in {"time", "both"} else None,
        panes=panes,
        late=late,
        allowed=allowed if late == "refire" else 0,
        aggregates=tuple(AGGREGATES),
        having=plan.having,
    )
    return sized(chance, step)


def sized(chance: random.Random, step: Windowing) -> Windowing:
    """Give a step's windows their size."""
    size = chance.choice([5 * TICK, 10 * TICK, 2_500_500])
    shift = chance.choice([0, 0, 3 * TICK, 500_001])
    match step.kind:
        case "tumbling":
            return replace(step, size=size, offset=shift)
        case "hopping":
            # Windows that overlap, and windows with gaps between them.
            every = chance.choice([2 * TICK, 5 * TICK, 3_333_333, 7 * TICK])
            return replace(step, size=size, every=every, offset=shift)
        case "sliding":
            return replace(step, size=size)
        case "sessions":
            return replace(step, gap=chance.choice([3 * TICK, 5 * TICK, 1_000_001]))
        case "counted":
            timed = chance.random() < 0.7
            return replace(step, count=chance.randint(1, 4), timed=timed)
    return step


def clocks_of(chance: random.Random, batches: int) -> list[int]:
    """Give the watermarks that batches ask for: they crawl, stand still and jump."""
    found, clock = [], START // 1000
    for _ in range(batches):
        clock += 1000 * chance.choice([0, 0, 1, 2, 3, 5, 8, 20])
        # One that falls behind is passed over, as Spark's watermark never turns back.
        found.append(clock + chance.choice([0, 0, 0, 1, -1, 500, -4000]))
    return found


def event_of(chance: random.Random, step: Windowing, watermark: int) -> Event:
    """Give an event somewhere around a watermark."""
    at = max(watermark * 1000, START) + chance.randint(-12, 15) * TICK
    at += chance.choice(EDGES)
    begins = at - at % (4 * TICK) + chance.choice([0, 0, 0, -2, 2, 6]) * TICK
    ends = begins + chance.choice([3, 3, 5, 5, 8, 8, 8, 0, -2]) * TICK
    lacks = chance.random()
    return Event(
        at=None if lacks < 0.02 or not step.timed else at,
        amount=chance.choice([None, 1, 1, 2, 3, 5, 8, -3]),
        word=chance.choice([None, "a", "b", "b", "c"]),
        partition=chance.randrange(3),
        topic=chance.choice("ttttu"),
        begins=None if 0.02 <= lacks < 0.05 else begins,
        ends=None if 0.05 <= lacks < 0.08 else ends,
    )


def case_of(
    chance: random.Random, step: Windowing, watermarks: Sequence[int], heat: int
) -> list[list[Event]]:
    """Give the events of one key, batch by batch; some repeat others or their times.

    A key has `heat` times as many events as are enough to try a window.
    """
    batches: list[list[Event]] = []
    known: list[Event] = []
    offsets: defaultdict[tuple[str, int], int] = defaultdict(int)
    for watermark in watermarks:
        batch = []
        for _ in range(heat * chance.choice([0, 0, 1, 1, 2, 3, 5])):
            event = event_of(chance, step, watermark)
            kin = chance.choice(known) if known and chance.random() < 0.3 else None
            if kin and chance.random() < 0.5:
                event = replace(kin, partition=event.partition)
            elif kin and kin.at and event.at:
                apart = chance.choice([0, 0, step.size, step.gap, step.allowed])
                event = replace(event, at=kin.at + chance.choice([-1, 1]) * apart)
            place = (event.topic, event.partition)
            batch.append(replace(event, offset=offsets[place]))
            offsets[place] += 1
            known.append(batch[-1])
        chance.shuffle(batch)
        batches.append(batch)
    return batches


def history_of(
    chances: Sequence[random.Random], step: Windowing, batches: int = 8, heat: int = 1
) -> History:
    """Give a history; the first of `chances` makes it, each other one a case of it.

    Two batches without events follow, whose watermark is beyond all windows.
    """
    shared = chances[0]
    clocks = clocks_of(shared, batches)
    end = max(clocks) + 1_000_000
    history = History(
        step,
        clocks=[*clocks, end, end],
        rows=[{} for _ in range(batches + 2)],
        dead=[shared.choice([0, 0, 1, 3]) for _ in range(batches + 2)],
        then=[
            shared.choice(["batch"] * 5 + ["restart", "crash"])
            for _ in range(batches + 2)
        ],
        batches_without_rows=shared.random() < 0.5,
    )
    for number, chance in enumerate(chances[1:]):
        events = case_of(chance, step, history.watermarks[:batches], heat)
        for batch, found in zip(history.rows, events, strict=False):
            if found:
                batch[number] = found
    return history


def seeded(seed: int, kind: str, cases: int) -> History:
    """Give a history of many cases; a case is the same however many there are."""
    shared, *each = _chances(f"{seed}/{kind}", cases)
    if seed < len(PLANS):
        step = planned(shared, kind, PLANS[seed])
    else:
        step = step_of(shared, kind)
    return history_of([shared, *each], step)


def plain(seed: int, kind: str, cases: int) -> History:
    """Give a history of windows that fire once and drop, as Spark's own do."""
    shared, *each = _chances(f"{seed}/plain {kind}", cases)
    having = shared.choice([None, *HAVINGS])
    step = planned(shared, kind, Plan("none", "accumulating", "drop", having))
    # No windows with gaps between them: they can be declared of no pipeline.
    return history_of([shared, *each], replace(step, every=min(step.every, step.size)))


def narrow(seed: int, kind: str, cases: int) -> History:
    """Give a history of windows that fire once, and of which a key has many open."""
    shared, *each = _chances(f"{seed}/narrow {kind}", cases)
    having = shared.choice([None, *HAVINGS])
    step = planned(shared, kind, Plan("none", "retracting", "side-output", having))
    every = TICK // 2 if kind == "hopping" else 0
    size = 5 * TICK if kind == "hopping" else TICK
    return history_of([shared, *each], replace(step, size=size, every=every))


def corrected(seed: int, kind: str, cases: int) -> History:
    """Give a history of windows that fire when they end, and are corrected."""
    shared, *each = _chances(f"{seed}/corrected {kind}", cases)
    plan = Plan("none", "accumulating", "refire", None)
    return history_of([shared, *each], planned(shared, kind, plan))


def spread(seed: int, kind: str, cases: int) -> History:
    """Give a history of hot keys that are spread, which no model knows of.

    Seeds that follow one another differ in what becomes of late events.
    """
    shared, *each = _chances(f"{seed}/{kind}/spread", cases)
    plan = Plan(
        trigger="none",
        panes=shared.choice(["accumulating", "retracting", "discarding"]),
        late=("side-output", "drop")[seed % 2],
        having=shared.choice([None, *HAVINGS]),
    )
    step = planned(shared, kind, plan)
    history = history_of([shared, *each], step, heat=4)
    return replace(history, parts=shared.choice([2, 3, 16]))


def _chances(name: str, cases: int) -> list[random.Random]:
    """Give one for what all cases share, and one for each of them."""
    numbers = range(-1, cases)
    return [random.Random(f"{name}/{number}") for number in numbers]  # noqa: S311


@st.composite
def histories(draw: st.DrawFn, kinds: Sequence[str] = KINDS) -> History:
    """Give a history of one case, made and shrunk by hypothesis."""
    chance = draw(st.randoms(use_true_random=False))
    step = step_of(chance, draw(st.sampled_from(kinds)))
    return history_of([chance, chance], step, draw(st.integers(1, 8)))
