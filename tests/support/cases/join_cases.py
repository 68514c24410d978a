"""Make streams that try a join: out of order, late, repeated, idle, restarted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from support.models.join_model import Joining, Row

START = 1_772_359_200_000_000
TICK = 1_000_000
# Beside whole ticks, a watermark's millisecond and an event's microsecond away.
EDGES = (0, 0, 0, 0, 0, -1, 1, -999, 999, 1000, -1000, 500_000)
# Around both, only after, only before, at the same moment, and far after.
INTERVALS = (
    (-3 * TICK, 4 * TICK),
    (0, 5 * TICK),
    (-4 * TICK, -TICK),
    (0, 0),
    (2 * TICK, 2_500_500),
    (-500_001, 9 * TICK),
)
SIDES = ("left", "right")


@dataclass
class History:
    """The batches of one query, which all cases share, and what happens to it.

    `clocks` has the watermark, in milliseconds, that each batch asks for: it holds
    from the next one on. `rows` has each batch's rows, each with the number of its
    case in its key; `dead` how many dead letters each side has in it, and `then` what
    follows: "batch", "restart" or "crash".
    """

    step: Joining
    clocks: list[int]
    dead: list[int]
    then: list[str]
    batches_without_rows: bool
    rows: list[list[Row]] = field(default_factory=list)

    @property
    def watermarks(self) -> list[int]:
        """The watermark of each batch, where none without rows is put in between."""
        return [0, *accumulate(self.clocks[:-1], max)]


def seeded(seed: int, kind: str, cases: int, batches: int = 7) -> History:
    """Give a history of many cases.

    Two batches without rows follow, whose watermark is beyond all that waits.
    """
    chance = random.Random(f"{seed}/{kind}")  # noqa: S311
    least, most = INTERVALS[(seed + len(kind) + ord(kind[0])) % len(INTERVALS)]
    late = "drop" if seed % 4 == 3 else "side-output"
    clocks = _clocks(chance, batches)
    end = max(clocks) + 1_000_000
    history = History(
        Joining(kind, least, most, late),
        clocks=[*clocks, end, end],
        dead=[chance.choice([0, 0, 1, 3]) for _ in range(batches + 2)],
        then=[
            chance.choice(["batch"] * 5 + ["restart", "crash"])
            for _ in range(batches + 2)
        ],
        batches_without_rows=chance.random() < 0.5,
    )
    numbers = iter(range(10**9))
    for watermark in history.watermarks[:batches]:
        batch: list[Row] = []
        for case in range(cases):
            batch += _rows(chance, case, watermark, history, numbers.__next__)
        chance.shuffle(batch)
        history.rows.append(batch)
    history.rows += [[], []]
    return history


def _clocks(chance: random.Random, batches: int) -> list[int]:
    """Give the watermarks that batches ask for: they crawl, stand still and jump."""
    found, clock = [], START // 1000
    for _ in range(batches):
        clock += 1000 * chance.choice([0, 0, 1, 2, 3, 5, 8])
        # One that falls behind is passed over, as Spark's watermark never turns back.
        found.append(clock + chance.choice([0, 0, 0, 1, -1, 500, -4000]))
    return found


def _rows(
    chance: random.Random, case: int, watermark: int, history: History, number: object
) -> Sequence[Row]:
    """Give a case's rows of a batch; some lie an interval's end from others."""
    assert callable(number)
    step = history.step
    mine = [
        row
        for batch in history.rows[-3:]
        for row in batch
        if row.key is not None and row.key.startswith(f"{case}/")
    ]
    found: list[Row] = []
    for _ in range(chance.choice([0, 0, 1, 1, 2, 3, 4])):
        at: int | None = max(watermark * 1000, START) + chance.randint(-5, 9) * TICK
        side = chance.choice(SIDES)
        key: str | None = f"{case}/{chance.choice('aab')}"
        kin = chance.choice([*mine, *found]) if mine or found else None
        if kin is not None and kin.at is not None and chance.random() < 0.6:
            apart = chance.choice([0, step.least, step.most])
            side = "right" if kin.side == "left" else "left"
            at = kin.at + (apart if side == "right" else -apart)
            key = kin.key
        assert at is not None
        at += chance.choice(EDGES)
        lacks = chance.random()
        key = None if lacks < 0.02 else key
        row = Row(side, number(), key, None if 0.02 < lacks < 0.03 else at)
        found.append(row)
        if chance.random() < 0.1:
            found.append(Row(row.side, number(), row.key, row.at))
    return found
