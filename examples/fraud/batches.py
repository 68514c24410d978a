"""The same rules as a stream and as a scheduled job: what does waiting cost?

A day of the bank is judged by the same features and the same model in several ways:
two seconds after each transaction, and every minute up to once a day. All of them
find the same cases; they find them at different times.

What is assumed, beside the traffic itself:

- A thief does the same again every ten minutes (``--again``), until somebody is told,
  or until the card's limit is reached: a hundred usual payments (``--limit``).
- A job takes no time. It starts by the clock, sees what has arrived, and whatever it
  finds is stopped at that moment. A stream takes two seconds (``--delay``).

Run it: ``python examples/fraud/batches.py --out report/``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median_high

from bars import Bar, drawn
from features import features
from model import Model
from traffic import Traffic
from truth import Case

INTERVALS = {
    "every minute": timedelta(minutes=1),
    "every 5 minutes": timedelta(minutes=5),
    "every 15 minutes": timedelta(minutes=15),
    "every hour": timedelta(hours=1),
    "every day": timedelta(days=1),
}
MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)


@dataclass(frozen=True)
class Habits:
    """What a thief does who is not stopped."""

    again: timedelta = timedelta(minutes=10)
    limit: int = 100


@dataclass(frozen=True)
class Seen:
    """A case, what its owner usually pays, and when it could first be known.

    ``since`` is when the first transaction arrived that the rules alert, or None.
    """

    case: Case
    usual_cents: int
    since: datetime | None

    def lost(self, stopped_at: datetime | None, habits: Habits) -> int:
        """Give the cents that the thief gets until then; the limit if never stopped."""
        limit = habits.limit * self.usual_cents
        got = 0
        for turn in count():
            later = turn * habits.again
            for charge in self.case.transactions:
                if stopped_at is not None and charge.made_at + later > stopped_at:
                    return got
                got = min(limit, got + (0 if charge.declined else charge.cents))
                if got == limit:
                    return got
        return got


@dataclass(frozen=True)
class Way:
    """One way to look for fraud, and what it costs.

    ``half_within`` is how long half of the found cases waited at the most.
    """

    name: str
    found: int
    half_within: timedelta | None
    lost_cents: int


def observe(traffic: Traffic, model: Model) -> list[Seen]:
    """Let the rules look at all transactions; give what they say of each case."""
    arrivals = list(traffic.arrivals())
    arrived: dict[str, int] = {}
    for offset_ms, transaction in arrivals:
        arrived.setdefault(transaction.transaction_id, offset_ms)
    rows = features(arrivals, traffic.profiles)
    alerted = {row.transaction_id for row, told in rows if model.alerts(told)}
    seen = []
    for case in traffic.cases:
        known = [arrived[i] for i in case.transaction_ids if i in alerted]
        since = traffic.start + timedelta(milliseconds=min(known)) if known else None
        owner = traffic.profiles.as_of(case.transactions[0].user_id, case.first_at)
        seen.append(Seen(case, owner.usual_cents, since))
    return seen


def next_start(interval: timedelta, since: datetime) -> datetime:
    """Give when the job starts next, counted from midnight."""
    return since + (MIDNIGHT - since) % interval


def weigh(
    name: str,
    seen: Iterable[Seen],
    habits: Habits,
    told: Callable[[datetime], datetime | None],
) -> Way:
    """Give what a way costs that tells so late of what could be known then."""
    lost, waited = 0, []
    for one in seen:
        stopped_at = told(one.since) if one.since is not None else None
        if one.since is not None and stopped_at is not None:
            waited.append(stopped_at - one.since)
        lost += one.lost(stopped_at, habits)
    half_within = median_high(waited) if waited else None
    return Way(name, len(waited), half_within, lost)


def compare(seen: Sequence[Seen], habits: Habits, delay: timedelta) -> list[Way]:
    """Give the stream, each scheduled job, and nobody at all."""
    jobs = (
        weigh(name, seen, habits, partial(next_start, interval))
        for name, interval in INTERVALS.items()
    )
    return [
        weigh("stream", seen, habits, lambda since: since + delay),
        *jobs,
        weigh("nobody looks", seen, habits, lambda _: None),
    ]


def table(ways: Sequence[Way], cases: int) -> str:
    """Give the comparison as lines for a terminal."""
    worst = ways[-1].lost_cents
    lines = [f"{'':<17}{'found':>9}{'half within':>14}{'lost':>12}{'saved':>9}"]
    for way in ways:
        found = f"{way.found}/{cases}"
        half = way.half_within
        after = f"{half.total_seconds():,.0f} s" if half is not None else "never"
        saved = f"{1 - way.lost_cents / worst:.1%}"
        lost = f"€ {way.lost_cents / 100:,.0f}"
        lines.append(f"{way.name:<17}{found:>9}{after:>14}{lost:>12}{saved:>9}")
    return "\n".join(lines)


def picture(ways: Sequence[Way]) -> str:
    """Give the comparison as an SVG."""
    bars = [
        Bar(way.name, way.lost_cents, f"€ {way.lost_cents / 100:,.0f}") for way in ways
    ]
    return drawn("Lost to thieves in a day, by who looks when", bars)


def main() -> int:
    """Parse the command line, compare, and write the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    beside = Path(__file__).parent / "model.json"
    parser.add_argument("--out", type=Path, default=Path("report"))
    parser.add_argument("--model", type=Path, default=beside)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=2.0, help="transactions a second")
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--delay", type=float, default=2.0, help="the stream's, in s")
    parser.add_argument("--again", type=float, default=600.0, help="a thief's, in s")
    parser.add_argument("--limit", type=int, default=100, help="in usual payments")
    given = parser.parse_args()

    traffic = Traffic(given.seed, given.rate, given.hours * 3600, MIDNIGHT)
    seen = observe(traffic, Model.load(given.model))
    habits = Habits(timedelta(seconds=given.again), given.limit)
    ways = compare(seen, habits, timedelta(seconds=given.delay))
    print(table(ways, len(seen)))
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "batch-beside-stream.svg"
    path.write_text(picture(ways))
    print(f"drawn in {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
