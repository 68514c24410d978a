"""Watermarks in whole pipelines: who holds them, and what a crash does to them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from headrace import (
    Pipeline,
    event,
    hours,
    kafka,
    minutes,
    seconds,
    sinks,
    tumbling,
    watermarks,
)
from headrace.testing import Rig
from support.harness.refusals import refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.windows.watermarks import Strategy

START = datetime(2026, 3, 1, 10, tzinfo=UTC)


@event(key="card", time="made_at")
class Payment:
    card: str
    cents: int
    made_at: datetime


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


def payment(minute: float, card: str = "a", cents: int = 10) -> Payment:
    return Payment(card, cents, at(minute))


def counting(strategy: Strategy | None = None, *topics: str) -> Pipeline:
    """Count payments of more than 5 cents in windows of five minutes."""
    shop = Pipeline("shop")
    first, *others = [
        shop.read(kafka(topic, Payment), watermark=strategy)
        for topic in topics or ["payments"]
    ]
    counted = (
        first.union(*others)
        .where("cents > 5")
        .window("counts", tumbling(minutes(5)), by="card", payments="count(*)")
    )
    shop.write("counts", counted, sinks.kafka("counts"))
    shop.write("late", counted.late, sinks.kafka("late"))
    return shop


def panes(rig: Rig) -> list[tuple[str, int]]:
    """Give the start of each pane's window as minutes, and its count."""
    return [
        (start[14:16], n) for start, n in rig.rows("counts", "window_start", "payments")
    ]


def batches(rig: Rig) -> int:
    return len(list(numbered(rig, "commits")))


def numbered(rig: Rig, log: str) -> Iterator[Path]:
    return rig._checkpoint.joinpath(log).glob("[0-9]*")


def offset(rig: Rig) -> dict[str, Any]:
    """Give the clock's last offset."""
    last = max(numbered(rig, "offsets"), key=lambda path: int(path.name))
    found = [json.loads(line) for line in last.read_text().splitlines()[2:]]
    return next(told for told in found if "clock" in told)


def crash_after(rig: Rig, batch: int) -> None:
    """Leave the checkpoint and the output as a crash after a batch's commit does."""
    logs = [*numbered(rig, "offsets"), *numbered(rig, "commits")]
    for path in [*logs, *rig._home.joinpath("out").iterdir()]:
        if int(path.name.partition(".")[0]) > batch:
            path.unlink()
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def test_windows_fire_before_a_run_until_the_end_has_ended(spark: SparkSession) -> None:
    with Rig(counting(), spark) as rig:
        rig.feed("payments", payment(0), payment(4), payment(11, cents=1))

        assert panes(rig) == [("00", 2)]
        assert rig.watermark == at(11)


def test_a_feed_that_moves_the_watermark_takes_two_batches_and_others_one(
    spark: SparkSession,
) -> None:
    taken = []
    with Rig(counting(), spark) as rig:
        for minute in (0, 11, 1, 11):
            before = batches(rig)
            rig.feed("payments", payment(minute))
            taken.append(batches(rig) - before)
        before = batches(rig)
        rig.advance(hours(1))
        taken.append(batches(rig) - before)
        before = batches(rig)
        rig.restart()

        # Events, then what fires by the watermark that they move.
        assert taken == [2, 2, 1, 1, 1]
        assert batches(rig) == before
        assert rig.rows("late", "made_at", "late_by_ms") == [
            ("2026-03-01T10:01:00.000000Z", 10 * 60_000)
        ]


SPEEDS = [(0, 0), (1, 0), (0, 60), (0, 120), (1, 3), (1, 6), (0, 240), (1, 12)]
"""Partition and minute: the first is read far ahead of the second."""


@pytest.mark.parametrize(
    ("strategy", "late"),
    [
        (watermarks.by_partition(seconds(0)), 0),
        (watermarks.ascending(), 0),
        (watermarks.lagging(seconds(0)), 3),
    ],
    ids=lambda value: getattr(value, "kind", value),
)
def test_only_a_watermark_of_all_partitions_makes_events_of_a_slow_one_late(
    spark: SparkSession, strategy: Strategy, late: int
) -> None:
    with Rig(counting(strategy), spark) as rig:
        for partition, minute in SPEEDS:
            rig.feed("payments", payment(minute), partition=partition)

        assert len(rig.rows("late")) == late


def test_a_silent_partition_is_waited_for_until_it_is_idle(spark: SparkSession) -> None:
    with Rig(counting(), spark) as rig:
        rig.feed("payments", payment(0), partition=1)
        rig.feed("payments", payment(30), partition=0)
        assert rig.watermark == at(0)

        rig.wait(seconds(61))
        rig.feed("payments", payment(31), partition=0)
        assert rig.watermark == at(31)

        rig.feed("payments", payment(32), partition=1)
        rig.feed("payments", payment(60), partition=0)
        assert rig.watermark == at(32)
        assert rig.rows("late") == []


def test_a_batch_that_is_run_again_has_the_same_watermark(spark: SparkSession) -> None:
    with Rig(counting(), spark) as rig:
        rig.feed("payments", payment(0), payment(4))
        rig.feed("payments", payment(11))
        before, told = panes(rig), offset(rig)

        rig.crash()

        assert (panes(rig), offset(rig)) == (before, told)
        assert rig.watermark == at(11)


def test_what_a_batch_has_shown_outlives_a_crash_before_the_next(
    spark: SparkSession,
) -> None:
    with Rig(counting(), spark) as rig:
        rig.feed("payments", payment(0), payment(4))
        events = batches(rig)
        rig.feed("payments", payment(11))

        crash_after(rig, events)
        assert panes(rig) == []
        rig.restart()

        assert panes(rig) == [("00", 2)]
        assert rig.watermark == at(11)


def test_without_its_journal_a_clock_waits_for_the_next_event(
    spark: SparkSession,
) -> None:
    with Rig(counting(), spark) as rig:
        rig.feed("payments", payment(0), payment(4))
        events = batches(rig)
        rig.feed("payments", payment(11))

        crash_after(rig, events)
        for journal in rig._checkpoint.rglob("seen"):
            journal.unlink()
        rig.restart()
        assert rig.watermark == at(4)

        rig.feed("payments", payment(12))
        assert rig.watermark == at(12)
        assert panes(rig) == [("00", 2)]


def test_a_journal_is_believed_beside_its_own_batch_alone(spark: SparkSession) -> None:
    with Rig(counting(), spark) as rig:
        rig.feed("payments", payment(0), payment(4))
        (journal,) = rig._checkpoint.rglob("seen")
        known, forged = (str(int(at(m).timestamp())) for m in (4, 60))
        told = journal.read_text().splitlines()[1].replace(known, forged)
        reached = []
        for text in (f"7\n{told}", "torn", f"{batches(rig) - 1}\n{told}"):
            journal.write_text(text)
            journal.with_name(".seen.crc").unlink(missing_ok=True)
            rig.restart()
            reached.append(rig.watermark)

        assert reached == [at(4), at(4), at(60)]


def test_the_least_of_two_sources_holds_after_a_restart_too(
    spark: SparkSession,
) -> None:
    reached = []
    with Rig(counting(None, "web", "till"), spark) as rig:
        for topic, minute in [("web", 10), ("till", 5), ("web", 20), ("till", 7)]:
            rig.feed(topic, payment(minute))
            reached.append(rig.watermark)

    assert reached == [None, at(5), at(5), at(7)]


def test_a_source_in_which_all_is_silent_holds_no_other(spark: SparkSession) -> None:
    with Rig(counting(None, "web", "till"), spark) as rig:
        rig.feed("till", payment(5))
        rig.feed("web", payment(10))
        rig.wait(minutes(2))
        rig.feed("web", payment(30))

        assert rig.watermark == at(30)


def test_the_wall_clock_closes_windows_without_an_event(spark: SparkSession) -> None:
    strategy = watermarks.arrival(every=seconds(10))
    with Rig(counting(strategy), spark) as rig:
        rig.wait(START - datetime(2020, 1, 1, tzinfo=UTC))
        rig.feed("payments", payment(1))
        assert rig.watermark == at(0)

        rig.wait(timedelta(minutes=5, seconds=9))
        rig.restart()

        assert rig.watermark == at(5)
        assert panes(rig) == [("00", 1)]


def test_an_observed_delay_follows_the_events_over_restarts(
    spark: SparkSession,
) -> None:
    strategy = watermarks.observed(0.9, at_most=hours(1))
    with Rig(counting(strategy), spark) as rig:
        rig.feed("payments", payment(100))
        assert rig.watermark == at(100)
        rig.feed("payments", *[payment(90)] * 5)
        rig.feed("payments", payment(120))

        delay = timedelta(milliseconds=offset(rig)["delay"])
        assert minutes(10) <= delay <= minutes(12.5)
        assert rig.watermark == max(at(100), at(120) - delay)


def test_an_event_from_the_future_is_a_dead_letter_and_moves_nothing(
    spark: SparkSession,
) -> None:
    with Rig(counting(), spark) as rig:
        rig.feed("payments", payment(0), recorded_at=at(0))
        rig.feed(
            "payments",
            payment(24 * 60),
            payment(24 * 60 + 0.1),
            recorded_at=at(0),
        )
        (letter,) = rig.dead_letters()

        assert letter.reason == "event-in-the-future"
        assert letter.detail.startswith("made_at: 2026-03-02T10:00:06Z is more than ")
        assert b"2026-03-02T10:00:06" in (letter.value or b"")
        assert rig.watermark == at(24 * 60)


def test_how_far_ahead_an_event_may_be_is_the_users_choice(spark: SparkSession) -> None:
    shop = Pipeline("shop")
    for name, ahead in [("strict", minutes(1)), ("open", None)]:
        events = shop.read(kafka(name, Payment, ahead=ahead))
        shop.write(name, events.select("cents"), sinks.kafka(f"{name}-out"))
    with Rig(shop, spark) as rig:
        for name in ("strict", "open"):
            rig.feed(name, payment(1), payment(2), recorded_at=at(0))

        assert len(rig.rows("strict")) == 1
        assert len(rig.rows("open")) == 2


def test_advancing_fires_windows_with_any_strategy(spark: SparkSession) -> None:
    for strategy in (watermarks.lagging(minutes(1)), watermarks.ascending()):
        with Rig(counting(strategy), spark) as rig:
            rig.feed("payments", payment(0), payment(4))
            rig.advance(at(5))
            assert panes(rig) == [("00", 2)]
            assert rig.watermark == at(5)

            rig.feed("payments", payment(4.5))
            assert len(rig.rows("late")) == 1


def test_a_watermark_cannot_be_advanced_back_or_from_nowhere(
    spark: SparkSession,
) -> None:
    with Rig(counting(), spark) as rig:
        with refused("advance-refused") as caught:
            rig.advance(minutes(1))
        assert caught.value.fact == "there is no watermark yet to count from"

        rig.feed("payments", payment(0))
        with refused("advance-refused"):
            rig.advance(at(-1))


def test_a_pipeline_without_state_has_no_watermark_to_advance(
    spark: SparkSession,
) -> None:
    shop = Pipeline("shop")
    shop.write("all", shop.read(kafka("payments", Payment)), sinks.kafka("all"))
    with Rig(shop, spark) as rig:
        rig.feed("payments", payment(0))
        assert rig.watermark is None
        with refused("advance-refused"):
            rig.advance(at(1))
