"""Joins with a table that every task holds, in whole pipelines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from headrace import (
    Pipeline,
    StepError,
    broadcast,
    event,
    kafka,
    minutes,
    sinks,
    tumbling,
)
from headrace.testing import Rig, Tombstone

START = datetime(2026, 3, 1, 10, tzinfo=UTC)


@event(key="payment_id", time="made_at")
class Payment:
    payment_id: str
    country: str
    made_at: datetime


@event(key="code")
class Country:
    code: str
    name: str
    zone: str


def paid(payment_id: str, country: str, minute: float = 0) -> Payment:
    return Payment(payment_id, country, START + timedelta(minutes=minute))


@pytest.mark.usefixtures("one_partition")
def test_a_batch_sees_the_table_up_to_its_own_offsets(spark: SparkSession) -> None:
    bank = Pipeline("bank")
    payments = bank.read(kafka("payments", Payment), out_of_order=minutes(10))
    countries = bank.table(kafka("countries", Country)).where("zone <> 'none'")
    known = countries.select("code", country_name="upper(name)")
    lookup = broadcast(missing="side-output")
    named = payments.join("country", known, on={"country": "code"}, lookup=lookup)
    counted = named.window("counted", tumbling(minutes(5)), by="country", n="count(*)")
    bank.write("named", named, sinks.kafka("named"))
    bank.write("missing", named.missing, sinks.kafka("missing"))
    bank.write("counted", counted, sinks.kafka("counted"))
    with Rig(bank, spark) as rig:
        rig.feed(
            "countries", Country("at", "Austria", "eu"), Country("fr", "France", "eu")
        )
        rig.feed("payments", paid("1", "at"), paid("2", "it"), b"{", paid("3", "fr"))

        # The table goes on, but a batch that is repeated sees it as it was.
        rig.crash()
        rig.feed("countries", Country("it", "Italy", "eu"), Tombstone("fr"), b"[")
        rig.crash()
        rig.feed("payments", paid("4", "it"), paid("5", "fr"), paid("6", "at"))
        rig.feed("countries", Country("at", "Austria", "none"))
        rig.restart()
        rig.feed("payments", paid("7", "at"), paid("8", "it"))
        rig.advance(START + timedelta(hours=5))

        shown = rig.rows("named", "payment_id", "country_name")
        missing = rig.rows("missing", "payment_id")
        letters = sorted((one.topic, one.offset) for one in rig.dead_letters())
        counts = dict(rig.rows("counted", "country", "n"))

    assert shown == [
        ("1", "AUSTRIA"),
        ("3", "FRANCE"),
        ("4", "ITALY"),
        ("6", "AUSTRIA"),
        ("8", "ITALY"),
    ]
    assert missing == [("2",), ("5",), ("7",)]
    assert letters == [("countries", 4), ("payments", 2)]
    assert counts == {"at": 2, "fr": 1, "it": 2}


def test_a_table_beyond_its_bound_stops_the_query_by_name(spark: SparkSession) -> None:
    bank = Pipeline("bank")
    payments = bank.read(kafka("payments", Payment)).select("country")
    countries = bank.table(kafka("countries", Country))
    named = payments.join(
        "country",
        countries,
        on={"country": "code"},
        lookup=broadcast(most_megabytes=1),
    )
    bank.write("named", named, sinks.kafka("named"))
    with Rig(bank, spark) as rig:
        rig.feed("countries", Country("at", "a" * 600_000, "eu"))
        rig.feed("payments", Payment("1", "at", START))

        with pytest.raises(StepError, match="table-too-large"):
            rig.feed("countries", Country("fr", "f" * 600_000, "eu"))

        assert len(rig.rows("named")) == 1
