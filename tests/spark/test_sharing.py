"""Steps with state that several others follow: each runs once in a batch."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from headrace import (
    Pipeline,
    Stream,
    event,
    hours,
    kafka,
    minutes,
    refire,
    seconds,
    sinks,
    tumbling,
)
from headrace.plan.states import state_owners
from headrace.testing import Rig
from support.harness.trying import told

START = datetime(2026, 3, 1, 10, tzinfo=UTC)


@event(key="card", time="made_at")
class Payment:
    payment_id: str
    card: str
    cents: int
    made_at: datetime


def payment(number: int, card: str, minute: float, cents: int = 100) -> Payment:
    return Payment(str(number), card, cents, START + timedelta(minutes=minute))


def followed_twice(shop: Pipeline, once: Stream) -> None:
    """Let two windows follow a step, each with a key of its own."""
    by_card = once.window("cards", tumbling(minutes(5)), by="card", n="count(*)")
    in_all = once.window(
        "sums", tumbling(minutes(5)), late=refire(minutes(5)), cents="sum(cents)"
    )
    shop.write("cards", by_card, sinks.kafka("cards", key="window_id"))
    shop.write("sums", in_all, sinks.kafka("sums", key="window_id"))


def deduped() -> tuple[Pipeline, Stream]:
    shop = Pipeline("shop")
    read = shop.read(kafka("payments", Payment), out_of_order=seconds(30))
    return shop, read.dedupe("once", by="payment_id", within=hours(1))


def test_what_two_windows_follow_is_run_once(spark: SparkSession) -> None:
    shop, once = deduped()
    followed_twice(shop, once)
    owners = state_owners(shop.outputs)
    assert owners == ["cards", "once", "sums"]
    with Rig(shop, spark) as rig:
        rig.feed("payments", *(payment(n, "ab"[n % 2], n / 4) for n in range(8)), b"{")
        first = max(told(spark, rig._query, shop), key=lambda batch: batch.events_in)
        rig.feed("payments", payment(7, "b", 2), payment(8, "a", 7))
        state = told(spark, rig._query, shop)[-1].state

        assert first.events_in == 9
        assert first.duplicates == {"once": 0}
        assert set(state) == {"cards", "once", "sums"}
        assert state["once"]["rows"] > 0
        assert sorted(rig.rows("cards", "card", "n")) == [("a", 4), ("b", 4)]
        assert rig.rows("sums", "cents") == [(800,)]
        assert len(rig.dead_letters()) == 1


def test_a_crash_repeats_for_all_that_follow(spark: SparkSession) -> None:
    shop, once = deduped()
    followed_twice(shop, once)
    with Rig(shop, spark) as rig:
        rig.feed("payments", payment(1, "a", 0), payment(2, "b", 1))
        rig.crash()
        rig.feed("payments", payment(1, "a", 2), payment(3, "a", 2))
        rig.restart()
        rig.feed("payments", payment(4, "b", 7))
        rig.crash()
        rig.feed("payments", payment(3, "a", 7), payment(5, "b", 3))

        assert sorted(rig.rows("cards", "card", "n")) == [("a", 2), ("b", 1)]
        assert rig.rows("sums", "cents") == [(300,), (400,)]


def test_a_step_can_be_joined_with_itself(spark: SparkSession) -> None:
    shop, once = deduped()
    large = once.where("cents > 150")
    pairs = large.join("pairs", once, on="card", within=minutes(5), prefix="other_")
    shop.write("pairs", pairs, sinks.kafka("pairs"))
    assert state_owners(shop.outputs) == ["pairs", "once"]
    with Rig(shop, spark) as rig:
        rig.feed("payments", payment(1, "a", 0, 200), payment(1, "a", 1, 200))
        rig.feed("payments", payment(2, "a", 2), payment(3, "b", 2), b"{")

        found = rig.rows("pairs", "payment_id", "other_payment_id")
        assert sorted(found) == [("1", "1"), ("1", "2")]
        assert len(rig.dead_letters()) == 1


def test_copies_with_different_columns_are_not_taken_for_each_other(
    spark: SparkSession,
) -> None:
    """Behind a join one takes the left columns alone and another the right ones."""
    shop, once = deduped()
    large = once.where("cents > 150")
    pairs = large.join("pairs", once, on="card", within=minutes(5), prefix="other_")
    left = pairs.select("card", "payment_id", "made_at").window(
        "left", tumbling(minutes(5)), by="card", ids="collect_list(payment_id)"
    )
    shop.write("left", left, sinks.kafka("left", key="window_id"))
    shop.write("right", pairs.select("other_payment_id"), sinks.kafka("right"))
    with Rig(shop, spark) as rig:
        rig.feed("payments", payment(1, "a", 0, 200), payment(2, "a", 1))
        rig.feed("payments", payment(3, "b", 30), payment(2, "a", 1))
        rig.feed("payments", payment(4, "b", 60))

        assert sorted(rig.rows("right", "other_payment_id")) == [("1",), ("2",)]
        assert rig.rows("left", "ids") == [(["1", "1"],)]


def test_windows_of_sparks_own_are_not_shared(spark: SparkSession) -> None:
    shop = Pipeline("shop")
    counts = shop.read(kafka("payments", Payment)).window(
        "counts", tumbling(minutes(5)), by="card", late="drop", n="count(*)"
    )
    same = counts.transform(lambda rows: rows)
    shop.write("same", same, sinks.kafka("same", key="window_id"))
    owners = state_owners(shop.outputs)
    # A transform's input is read twice: for its events, and for its dead letters.
    assert owners == ["counts", "counts"]
    with Rig(shop, spark) as rig:
        rig.feed("payments", payment(1, "a", 0), payment(2, "b", 1), b"{")
        rig.feed("payments", payment(3, "a", 30))

        assert set(told(spark, rig._query, shop)[-1].state) == {"counts"}
        assert sorted(rig.rows("same", "card", "n")) == [("a", 1), ("b", 1)]
        assert len(rig.dead_letters()) == 1


def test_a_transform_reads_what_it_follows_once(spark: SparkSession) -> None:
    shop, once = deduped()
    shop.write("same", once.transform(lambda rows: rows), sinks.kafka("same"))
    owners = state_owners(shop.outputs)
    assert owners == ["once"]
    with Rig(shop, spark) as rig:
        rig.feed("payments", payment(1, "a", 0), payment(1, "b", 1), b"{")

        assert set(told(spark, rig._query, shop)[-1].state) == {"once"}
        assert rig.rows("same", "payment_id") == [("1",)]
        assert len(rig.dead_letters()) == 1
