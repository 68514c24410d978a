"""Joins with a table as steps among others, in whole pipelines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from headrace import (
    Pipeline,
    cdc,
    event,
    kafka,
    known,
    minutes,
    settled,
    sinks,
    tumbling,
)
from headrace.testing import Rig, Tombstone, captured

START = datetime(2026, 3, 1, 10, tzinfo=UTC)

pytestmark = pytest.mark.usefixtures("one_partition")


@event(key="payment_id", time="made_at")
class Payment:
    payment_id: str
    user: str
    made_at: datetime


@event(key="user", time="at")
class Login:
    user: str
    at: datetime


@event(key="user")
class Profile:
    user: str
    city: str


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


def paid(payment_id: str, user: str, minute: float) -> Payment:
    return Payment(payment_id, user, at(minute))


def test_an_event_is_told_with_the_row_of_its_own_time(spark: SparkSession) -> None:
    bank = Pipeline("bank")
    payments = bank.read(kafka("payments", Payment), out_of_order=minutes(10))
    profiles = bank.table(kafka("profiles", Profile))
    towns = profiles.where("city <> 'Rome'").select("user", town="upper(city)")
    lookup = settled(missing="side-output", retention=minutes(30))
    where = payments.join("where", towns, on="user", lookup=lookup)
    bank.write("where", where, sinks.kafka("where"))
    bank.write("missing", where.missing, sinks.kafka("missing"))
    bank.write("late", where.late, sinks.kafka("late"))
    with Rig(bank, spark) as rig:
        rig.feed(
            "payments",
            *(paid("1", "ann", 4), paid("2", "ann", 6), b"{"),
            *(paid("3", "ann", 8), paid("4", "bob", 4)),
        )
        rig.feed("profiles", Profile("ann", "Oslo"), recorded_at=at(0))
        rig.feed("profiles", Profile("ann", "Bern"), recorded_at=at(5))
        rig.feed("profiles", Profile("ann", "Rome"), recorded_at=at(7))
        assert rig.rows("where") == []

        rig.advance(at(9))
        rig.crash()

        assert rig.rows("where", "payment_id", "town") == [("1", "OSLO"), ("2", "BERN")]
        assert sorted(rig.rows("missing", "payment_id")) == [("3",), ("4",)]
        rig.feed("profiles", Tombstone("ann"), recorded_at=at(10))
        rig.advance(at(20))
        # Still known, though no longer there; and beyond what is kept.
        rig.feed("payments", paid("5", "ann", 6.5), paid("6", "ann", -11))

        assert rig.rows("where", "payment_id", "town")[2:] == [("5", "BERN")]
        assert rig.rows("late", "payment_id") == [("6",)]
        assert len(rig.dead_letters()) == 1


def test_a_window_behind_settled_answers_counts_all_of_them(
    spark: SparkSession,
) -> None:
    bank = Pipeline("bank")
    payments = bank.read(kafka("payments", Payment), out_of_order=minutes(30))
    profiles = bank.table(kafka("profiles", Profile))
    where = payments.join("where", profiles, on="user")
    counted = where.window("counted", tumbling(minutes(5)), by="city", n="count(*)")
    bank.write("counted", counted, sinks.kafka("counted"))
    bank.write("late", counted.late, sinks.kafka("late"))
    with Rig(bank, spark) as rig:
        rig.feed("payments", *(paid(f"{n}", "ann", n) for n in range(12)))
        rig.feed("profiles", Profile("ann", "Oslo"), recorded_at=at(3))
        # All of it becomes due at once, and the windows that it belongs into too.
        rig.advance(at(60))

        found = sorted(rig.rows("counted", "city", "n"), key=str)
        assert found == [("Oslo", 2), ("Oslo", 2), ("Oslo", 5), (None, 3)]
        assert rig.rows("late") == []


def test_a_replay_years_later_gives_the_answers_of_the_time(
    spark: SparkSession,
) -> None:
    def answered(name: str) -> Pipeline:
        bank = Pipeline(name)
        payments = bank.read(kafka("payments", Payment), out_of_order=minutes(10))
        profiles = bank.table(kafka("profiles", Profile))
        bank.write(
            "where", payments.join("where", profiles, on="user"), sinks.kafka("where")
        )
        return bank

    moves = [(0, "Oslo"), (5, "Bern"), (7, "Rome"), (11, "Nice")]
    paid_at = (1, 4.5, 5, 6, 8, 10.9, 12)
    with Rig(answered("live"), spark) as rig:
        for minute in range(15):
            for moved_at, city in moves:
                if moved_at == minute:
                    rig.feed("profiles", Profile("ann", city), recorded_at=at(minute))
            due = [n for n in paid_at if minute <= n < minute + 1]
            if due:
                rig.feed("payments", *(paid(f"{n}", "ann", n) for n in due))
        rig.advance(at(30))
        live = rig.rows("where", "payment_id", "city")
    towns = ["Oslo", "Oslo", "Bern", "Bern", "Rome", "Rome", "Nice"]
    assert [city for _, city in live] == towns

    years_later = START + timedelta(days=5 * 365)
    with Rig(answered("replayed"), spark) as rig:
        for minute, city in moves:
            rig.feed("profiles", Profile("ann", city), recorded_at=at(minute))
        for day, city in enumerate(("Bonn", "Lyon", "Graz")):
            then = years_later + timedelta(days=day)
            rig.feed("profiles", Profile("ann", city), recorded_at=then)
        gone_at = years_later + timedelta(days=9)
        rig.feed("profiles", Tombstone("ann"), recorded_at=gone_at)
        rig.feed("payments", *(paid(f"{n}", "ann", n) for n in paid_at))
        rig.advance(at(30))

        assert rig.rows("where", "payment_id", "city") == live


def test_a_captured_row_of_the_first_snapshot_was_there_before(
    spark: SparkSession,
) -> None:
    bank = Pipeline("bank")
    payments = bank.read(kafka("payments", Payment), out_of_order=minutes(30))
    users = bank.table(cdc.postgres("bank", "public.users", Profile))
    where = payments.join("where", users, on="user")
    bank.write("where", where, sinks.kafka("where"))
    with Rig(bank, spark) as rig:
        rig.feed("payments", *(paid(f"{n}", "ann", n) for n in (1, 6, 8, 12)))
        rig.feed(
            "bank.public.users",
            captured("snapshot", Profile("ann", "Oslo"), position=1, at=at(5)),
            # Both within a batch; the first of them is what a net change would lack.
            captured("update", Profile("ann", "Bern"), position=2, at=at(7)),
            captured("update", Profile("ann", "Rome"), position=3, at=at(9)),
            # A connector that goes back tells a change again.
            captured("update", Profile("ann", "Bern"), position=2, at=at(7)),
        )
        rig.advance(at(20))

        assert rig.rows("where", "payment_id", "city") == [
            ("1", "Oslo"),
            ("6", "Oslo"),
            ("8", "Bern"),
            ("12", "Rome"),
        ]


@pytest.mark.long
def test_a_table_can_answer_the_results_of_a_join(spark: SparkSession) -> None:
    bank = Pipeline("bank")
    payments = bank.read(kafka("payments", Payment), out_of_order=minutes(30))
    logins = bank.read(kafka("logins", Login), out_of_order=minutes(30))
    profiles = bank.table(kafka("profiles", Profile))
    paired = payments.join("paired", logins, on="user", within=minutes(3), kind="left")
    where = paired.join("where", profiles, on="user")
    counted = where.window(
        "counted", tumbling(minutes(5)), by="city", n="count(*)", logins="count(at)"
    )
    bank.write("counted", counted, sinks.kafka("counted"))
    bank.write("late", counted.late, sinks.kafka("late"))
    with Rig(bank, spark) as rig:
        rig.feed("payments", *(paid(f"{n}", "ann", n) for n in range(12)))
        rig.feed("logins", Login("ann", at(1)), Login("ann", at(14)))
        rig.feed("profiles", Profile("ann", "Oslo"), recorded_at=at(3))
        rig.feed("profiles", Profile("ann", "Bern"), recorded_at=at(7))
        rig.crash()
        rig.advance(at(90))

        found = rig.rows("counted", "window_start", "city", "n", "logins")
        assert rig.rows("late") == []
    start = [f"2026-03-01T10:{minute}:00.000000Z" for minute in ("00", "05", "10")]
    assert sorted(found, key=str) == [
        (start[0], "Oslo", 2, 2),
        (start[0], None, 3, 3),
        (start[1], "Bern", 3, 0),
        (start[1], "Oslo", 2, 0),
        (start[2], "Bern", 2, 1),
    ]


def test_an_event_that_came_before_its_row_is_corrected_in_a_keyed_sink(
    spark: SparkSession,
) -> None:
    bank = Pipeline("bank")
    payments = bank.read(kafka("payments", Payment))
    profiles = bank.table(kafka("profiles", Profile))
    lookup = known(missing="null-then-correct", grace=minutes(5))
    where = payments.join("where", profiles, on="user", lookup=lookup)
    bank.write("where", where, sinks.kafka("where"))
    with Rig(bank, spark) as rig:
        rig.feed("payments", paid("1", "ann", 4), paid("2", "bob", 4))
        rig.feed("profiles", Profile("ann", "Oslo"), recorded_at=at(3))

        assert sorted(rig.rows("where", "payment_id", "city"), key=str) == [
            ("1", "Oslo"),
            ("1", None),
            ("2", None),
        ]
        assert rig.table("where", "city") == {"1": ("Oslo",), "2": (None,)}
