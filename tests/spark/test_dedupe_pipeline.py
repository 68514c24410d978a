"""Dedupe as a step among others, in whole pipelines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from headrace import Pipeline, event, hours, kafka, minutes, sinks
from headrace.testing import Rig

START = datetime(2026, 3, 1, 10, tzinfo=UTC)


@event(key="card", time="made_at")
class Payment:
    payment_id: str
    card: str
    made_at: datetime


def payment(payment_id: str, card: str, minute: int) -> Payment:
    return Payment(payment_id, card, START + timedelta(minutes=minute))


def test_streams_put_together_share_their_ids(spark: SparkSession) -> None:
    shop = Pipeline("shop")
    web = shop.read(kafka("web", Payment), out_of_order=minutes(10))
    till = shop.read(kafka("till", Payment))
    once = web.union(till).dedupe("once", by="payment_id", within=hours(1))
    shop.write("ids", once.where("card <> 'b'").select("payment_id"), sinks.kafka("o"))
    with Rig(shop, spark) as rig:
        rig.feed("web", payment("1", "a", 0), payment("2", "b", 0), b"{")
        rig.feed("till", payment("1", "a", 5), payment("3", "a", 5))

        assert rig.rows("ids", "payment_id") == [("1",), ("3",)]
        assert len(rig.dead_letters()) == 1


def test_one_dedupe_can_follow_another(spark: SparkSession) -> None:
    shop = Pipeline("shop")
    payments = shop.read(kafka("payments", Payment))
    once = payments.dedupe("once", by="payment_id", within=hours(1))
    cards = once.where("card <> 'x'").dedupe("cards", by="card", within=minutes(30))
    shop.write("all", once, sinks.kafka("all"))
    shop.write("cards", cards.select("card", "made_at"), sinks.kafka("cards"))
    with Rig(shop, spark) as rig:
        rig.feed(
            "payments",
            payment("1", "a", 0),
            payment("1", "b", 1),
            payment("2", "a", 2),
            payment("3", "x", 2),
            b"{",
        )
        rig.feed("payments", payment("4", "a", 40), payment("5", "b", 200))
        rig.feed("payments", payment("1", "a", 3))

        assert sorted(rig.rows("all", "payment_id")) == [(n,) for n in "112345"]
        assert sorted(rig.rows("cards", "card")) == [("a",), ("a",), ("a",), ("b",)]
        assert len(rig.dead_letters()) == 1


def test_a_deduped_stream_can_be_united_with_one_that_is_not(
    spark: SparkSession,
) -> None:
    shop = Pipeline("shop")
    once = shop.read(kafka("web", Payment)).dedupe(
        "once", by="payment_id", within=hours(1)
    )
    both = once.union(shop.read(kafka("till", Payment)))
    shop.write(
        "both", both.dedupe("both", by="card", within=hours(1)), sinks.kafka("o")
    )
    with Rig(shop, spark) as rig:
        rig.feed("web", payment("1", "a", 0), payment("1", "b", 1))
        rig.feed("till", payment("1", "a", 2), payment("1", "c", 2))

        assert sorted(rig.rows("both", "card")) == [("a",), ("c",)]


def test_events_without_an_origin_are_deduped_too(spark: SparkSession) -> None:
    shop = Pipeline("shop")
    changed = shop.read(kafka("payments", Payment)).transform(lambda df: df)
    once = changed.dedupe("once", by="payment_id", within=hours(1))
    shop.write("once", once, sinks.kafka("once"))
    with Rig(shop, spark) as rig:
        rig.feed("payments", payment("1", "b", 0), payment("1", "a", 0), b"{")
        rig.restart()

        assert len(rig.rows("once")) == 1
        assert len(rig.dead_letters()) == 1
