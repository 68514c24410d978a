"""Make streams and tables that try a join: disorder, updates, deletions, late rows."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import accumulate

from support.cases.join_cases import EDGES, START, TICK
from support.models.lookup_model import Change, Event, Looking

PLANS = {
    "settled": Looking("settled", "null", retention=3 * TICK),
    "settled-apart": Looking("settled", "side-output", retention=60 * TICK),
    "settled-inner": Looking("settled", "null", kind="inner", retention=0),
    "known": Looking("known", "null", retention=5 * TICK),
    "known-apart": Looking("known", "side-output", retention=4_000_500),
    "waiting": Looking("known", "wait", grace=3 * TICK, retention=6 * TICK),
    "corrected": Looking(
        "known", "null-then-correct", grace=2_000_500, retention=9 * TICK
    ),
    "latest": Looking("latest", "null"),
    "broadcast": Looking("broadcast", "null"),
    "broadcast-apart": Looking("broadcast", "side-output"),
    "broadcast-inner": Looking("broadcast", "null", kind="inner"),
}


@dataclass
class History:
    """The batches of one query, and what happens to it; see `join_cases.History`."""

    step: Looking
    clocks: list[int]
    then: list[str]
    batches_without_rows: bool
    events: list[list[Event]] = field(default_factory=list)
    changes: list[list[Change]] = field(default_factory=list)

    @property
    def watermarks(self) -> list[int]:
        """The watermark of each batch, where none without rows is put in between."""
        return [0, *accumulate(self.clocks[:-1], max)]


def history(seed: int, plan: str, cases: int, batches: int = 7) -> History:
    """Give a history of many cases.

    Two batches without rows follow, whose watermark is beyond all that waits; in the
    first of them all rows are deleted.
    """
    chance = random.Random(f"{seed}/{plan}")  # noqa: S311
    clocks, clock = [], START // 1000
    for _ in range(batches):
        clock += 1000 * chance.choice([0, 0, 1, 2, 3, 5, 8])
        clocks.append(clock + chance.choice([0, 0, 0, 1, -1, 500, -4000]))
    end = max(clocks) + 1_000_000
    made = History(
        PLANS[plan],
        clocks=[*clocks, end, end + 1_000_000],
        then=[
            chance.choice(["batch"] * 5 + ["restart", "crash"])
            for _ in range(batches + 2)
        ],
        batches_without_rows=chance.random() < 0.5,
    )
    numbers = iter(range(1, 10**9))
    for watermark in made.watermarks[:batches]:
        events: list[Event] = []
        changes: list[Change] = []
        for case in range(cases):
            for _ in range(chance.choice([0, 1, 1, 2, 3])):
                key, at = _place(chance, case, watermark)
                lacks = chance.random()
                events.append(
                    Event(
                        next(numbers),
                        None if lacks < 0.02 else key,
                        None if 0.02 < lacks < 0.03 else at,
                    )
                )
            for _ in range(chance.choice([0, 0, 1, 1, 2, 3])):
                key, at = _place(chance, case, watermark)
                row = chance.choice([None, 1, 1, 2, next(numbers), next(numbers)])
                changes.append(Change(key, at, row))
        chance.shuffle(events)
        made.events.append(events)
        made.changes.append(changes)
    known = {change.key for batch in made.changes for change in batch}
    last = (max(clocks) + 1) * 1000
    made.events += [[], []]
    made.changes += [[Change(key, last, None) for key in sorted(known)], []]
    return made


def _place(chance: random.Random, case: int, watermark: int) -> tuple[str, int]:
    at = max(watermark * 1000, START) + chance.randint(-6, 6) * TICK
    return f"{case}/{chance.choice('ab')}", at + chance.choice(EDGES)
