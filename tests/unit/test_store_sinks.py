"""Redis and OpenSearch as sinks: what is refused when they are declared."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from headrace import (
    Pipeline,
    ServiceError,
    SettingsError,
    Stream,
    event,
    hours,
    kafka,
    sinks,
)
from headrace.sinks import Sink
from support.harness.refusals import refused


@event(key="card")
class Card:
    card: str
    changes: int
    changed_at: datetime
    day: date
    amount: Decimal
    share: float


@pytest.fixture
def pipeline() -> Pipeline:
    return Pipeline("cards")


@pytest.fixture
def cards(pipeline: Pipeline) -> Stream:
    return pipeline.read(kafka("cards", Card))


@dataclass(frozen=True)
class Servers:
    address: str

    def database(self, _name: str) -> str:
        return self.address

    def redis(self) -> str:
        return self.address

    def opensearch(self) -> str:
        return self.address


@pytest.mark.parametrize("name", ["", "a b", "cards*", "headrace:ledger", "x" * 201])
def test_a_keyspace_has_a_plain_name(name: str) -> None:
    with refused("target-name-refused"):
        sinks.redis(name)


@pytest.mark.parametrize(
    "name", ["", "Alerts", "_alerts", "a b", "a*", "headrace-ledger", "x" * 201]
)
def test_an_index_has_a_name_that_opensearch_takes(name: str) -> None:
    with refused("target-name-refused"):
        sinks.opensearch(name)


def test_a_form_that_does_not_exist_is_refused() -> None:
    with refused("option-unknown"):
        sinks.redis("cards", as_="list")


@pytest.mark.parametrize("ttl", [timedelta(0), timedelta(seconds=-1)])
def test_a_row_lives_for_some_time(ttl: timedelta) -> None:
    with refused("duration-not-positive"):
        sinks.redis("cards", ttl=ttl)


@pytest.mark.parametrize("version", ["changes", "changed_at", "day"])
def test_numbers_times_and_days_are_versions(
    pipeline: Pipeline, cards: Stream, version: str
) -> None:
    pipeline.write("cards", cards, sinks.redis("cards", version=version))
    assert len(pipeline.outputs) == 1


@pytest.mark.parametrize("version", ["card", "amount", "share"])
def test_what_has_no_order_as_text_is_no_version(
    pipeline: Pipeline, cards: Stream, version: str
) -> None:
    with refused("version-type-unsupported"):
        pipeline.write("cards", cards, sinks.redis("cards", version=version))


def test_a_version_is_a_column(pipeline: Pipeline, cards: Stream) -> None:
    with refused("column-unknown"):
        pipeline.write("cards", cards, sinks.redis("cards", version="offset"))


def test_the_words_of_a_column_that_is_not_there_are_not_searched(
    pipeline: Pipeline, cards: Stream
) -> None:
    with refused("column-unknown"):
        pipeline.write("cards", cards, sinks.opensearch("cards", full_text=["note"]))


def test_the_words_of_a_number_are_not_searched(
    pipeline: Pipeline, cards: Stream
) -> None:
    with refused("types-differ"):
        pipeline.write("cards", cards, sinks.opensearch("cards", full_text=["changes"]))


@pytest.mark.parametrize("sink", [sinks.redis("cards"), sinks.opensearch("cards")])
def test_rows_without_a_key_have_no_place(pipeline: Pipeline, sink: Sink) -> None:
    @event()
    class Keyless:
        number: int

    with refused("sink-not-keyed"):
        pipeline.write("cards", pipeline.read(kafka("numbers", Keyless)), sink)


def test_two_outputs_do_not_share_a_keyspace(pipeline: Pipeline, cards: Stream) -> None:
    pipeline.write("cards", cards, sinks.redis("cards"))
    with refused("target-shared"):
        pipeline.write("again", cards, sinks.redis("cards", as_="json"))


@pytest.mark.parametrize("sink", [sinks.redis("cards"), sinks.opensearch("cards")])
def test_an_address_with_a_password_is_not_handed_on(sink: Sink) -> None:
    with pytest.raises(SettingsError) as caught:
        sink.settings(Servers("https://ann:canary@host:9200"))
    assert caught.value.slug == "password-in-address"
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("sink", [sinks.redis("cards"), sinks.opensearch("cards")])
def test_a_sink_needs_to_know_its_server(sink: Sink) -> None:
    with pytest.raises(ServiceError) as caught:
        sink.settings(None)
    assert caught.value.slug == "server-unknown"


def test_a_redis_sink_tells_what_was_declared() -> None:
    sink = sinks.redis("cards", as_="json", ttl=hours(1), version="changes")
    assert sink.settings(Servers("redis://host:6379")) == {
        "address": "redis://host:6379",
        "keyspace": "cards",
        "as": "json",
        "ttl_ms": "3600000",
        "version": "changes",
    }


def test_both_are_explained(pipeline: Pipeline, cards: Stream) -> None:
    pipeline.write("cards", cards, sinks.redis("cards"))
    pipeline.write("found", cards, sinks.opensearch("cards"))

    told = pipeline.explain()["outputs"]
    assert [output["target"] for output in told] == [
        "Redis cards:*",
        "OpenSearch index cards",
    ]
    assert {output["delivery"] for output in told} == {"exactly-once"}
    assert {output["atomic"] for output in told} == {False}
