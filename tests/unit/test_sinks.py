"""Sinks say what they are and promise, and what does not go together is refused."""

from __future__ import annotations

import pytest

from headrace import Pipeline, Stream, event, kafka, sinks
from headrace.errors import ServiceError, SettingsError
from headrace.plan.explain import explain_text
from headrace.sinks import PostgresSink
from support.harness.refusals import refused


@event(key="card")
class Payment:
    card: str
    cents: int


class OneAddress:
    """Servers of which all are at one address."""

    def __init__(self, address: str) -> None:
        self._address = address

    def database(self, _name: str) -> str:
        return self._address

    def redis(self) -> str:
        return self._address

    def opensearch(self) -> str:
        return self._address


@pytest.fixture
def sales() -> Pipeline:
    return Pipeline("sales")


@pytest.fixture
def payments(sales: Pipeline) -> Stream:
    return sales.read(kafka("payments", Payment))


def test_a_table_has_a_schema_a_database_and_a_mode() -> None:
    sink = sinks.postgres("audit.alerts", key="card", database="bank", mode="append")

    assert (sink.schema, sink.table, sink.database) == ("audit", "alerts", "bank")
    assert sink.target == "table audit.alerts of database bank"
    assert (sink.same_key, sink.deletes) == ("append", "refuse")
    upserts = sinks.postgres("alerts")
    assert (upserts.schema, upserts.same_key, upserts.deletes) == (
        *("public", "replace", "remove"),
    )


@pytest.mark.parametrize(
    "name", ["", "a b", "a.b.c", '"x"', ".a", "a.", "1a", "a" * 64]
)
def test_a_name_that_no_table_has_is_refused(name: str) -> None:
    with refused("table-name-refused"):
        sinks.postgres(name)


def test_a_mode_that_does_not_exist_is_refused() -> None:
    with refused("mode-unknown"):
        sinks.postgres("alerts", mode="merge")


def test_rows_that_replace_each_other_need_a_key(
    sales: Pipeline, payments: Stream
) -> None:
    keyless = payments.select("cents")

    with refused("sink-not-keyed") as caught:
        sales.write("cents", keyless, sinks.postgres("cents"))
    sales.write("added", keyless, sinks.postgres("cents", mode="append"))

    assert "table public.cents of database postgres" in caught.value.fact


def test_two_outputs_cannot_share_a_table(sales: Pipeline, payments: Stream) -> None:
    sales.write("one", payments, sinks.postgres("payments"))

    with refused("target-shared"):
        sales.write("two", payments, sinks.postgres("public.payments", mode="append"))
    sales.write("three", payments, sinks.postgres("payments", database="other"))


def test_a_table_may_be_called_as_a_topic_that_is_read(
    sales: Pipeline, payments: Stream
) -> None:
    sales.write("copy", payments, sinks.postgres("payments"))

    assert [output.delivery for output in sales.outputs] == ["exactly-once"]


def test_what_a_sink_does_not_give_is_refused(
    sales: Pipeline, payments: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresSink, "guarantees", ("at-least-once",))

    with refused("delivery-unsupported"):
        sales.write("copy", payments, sinks.postgres("t"), delivery="exactly-once")
    sales.write("copy", payments, sinks.postgres("t"))

    assert sales.outputs[0].delivery == "at-least-once"


def test_each_output_is_explained_with_its_sink(
    sales: Pipeline, payments: Stream
) -> None:
    sales.write("log", payments, sinks.kafka("out"))
    sales.write("table", payments, sinks.postgres("payments", key="card"))

    log, table = sales.explain()["outputs"]

    assert (log["sink"], log["topic"], log["deletes"]) == ("kafka", "out", "tombstone")
    assert (table["sink"], table["key"], table["same_key"], table["deletes"]) == (
        *("postgres", "card", "replace", "remove"),
    )
    assert "topic" not in table
    text = explain_text(sales.explain())
    assert "table public.payments of database postgres keyed by card" in text
    assert "a row replaces the one of its key; the row of a deleted key is" in text


def test_settings_hold_the_address_and_no_password() -> None:
    sink = sinks.postgres("alerts", database="bank")
    address = "postgresql://writer@db/bank?passfile=/run/pass"

    assert sink.settings(OneAddress(address)) == {
        "address": address,
        "schema": "public",
        "table": "alerts",
        "mode": "upsert",
    }
    with pytest.raises(ServiceError, match="server-unknown"):
        sink.settings(None)


@pytest.mark.parametrize(
    "address",
    ["postgresql://writer:canary@db/bank", "postgresql://db/bank?password=canary"],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(SettingsError) as caught:
        sinks.postgres("alerts").settings(OneAddress(address))

    assert caught.value.slug == "password-in-address"
    assert "canary" not in str(caught.value)
