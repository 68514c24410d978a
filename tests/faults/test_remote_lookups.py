"""Joins with tables that stay in PostgreSQL and Redis, on the real servers."""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any

import psycopg
import pytest
import redis
from psycopg.sql import SQL, Identifier
from pyspark.sql import SparkSession

from headrace import (
    DeliveryError,
    Pipeline,
    SchemaError,
    StepError,
    asking,
    digits,
    event,
    kafka,
    remote,
    seconds,
    sinks,
)
from headrace.remote import RemoteTable
from headrace.services import Stack
from headrace.services.addresses import Addresses
from headrace.settings import load_settings
from headrace.testing import Rig

SEEN_AT = datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)
TOLD = ("payment_id", "city", "cap", "born", "seen_at", "photo", "tags")


@event(key="payment_id")
class Payment:
    payment_id: str
    user_id: int | None


@event(key="user_id")
class Profile:
    user_id: int
    city: str
    cap: Annotated[Decimal, digits(12, 2)]
    born: date | None
    seen_at: datetime
    photo: bytes | None
    tags: list[str]


ANN = Profile(1, 'Graz "south"', Decimal("1.50"), None, SEEN_AT, b"\x00" * 90, ["a"])
BOB = Profile(2, "Rome", Decimal(-2), date(1970, 1, 1), SEEN_AT, None, [])


def asked(table: RemoteTable, **given: Any) -> Pipeline:
    """Give a pipeline whose payments are told with profiles."""
    bank = Pipeline("bank")
    payments = bank.read(kafka("payments", Payment))
    lookup = asking(missing="side-output", repeatable=False, **given)
    told = payments.join("profile", table, on="user_id", lookup=lookup)
    bank.write("told", told, sinks.kafka("told"))
    bank.write("missing", told.missing, sinks.kafka("missing"))
    return bank


def paid(*users: int | None) -> list[Payment]:
    return [Payment(f"{n}", user) for n, user in enumerate(users)]


def stored(sink: Any, spark: SparkSession, servers: Addresses) -> None:
    """Write both profiles with a sink of ours."""
    bank = Pipeline(f"bank-{uuid.uuid4().hex[:8]}")
    bank.write("profiles", bank.read(kafka("profiles", Profile)), sink)
    with Rig(bank, spark, servers=servers) as rig:
        rig.feed("profiles", ANN, BOB)


@pytest.fixture
def table(postgres: str, addresses: Addresses, spark: SparkSession) -> Iterator[str]:
    name = f"profiles_{uuid.uuid4().hex[:8]}"
    stored(sinks.postgres(name), spark, addresses)
    yield name
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(SQL("drop table {}").format(Identifier(name)))


@pytest.mark.parametrize("system", ["postgres", "hash", "json"])
def test_an_event_is_told_with_the_row_that_is_there(
    spark: SparkSession,
    addresses: Addresses,
    postgres: str,
    redis_address: str,
    system: str,
) -> None:
    name = f"p{uuid.uuid4().hex[:8]}"
    if system == "postgres":
        stored(sinks.postgres(name), spark, addresses)
        table = remote.postgres(name, Profile)
    else:
        stored(sinks.redis(name, as_=system), spark, addresses)
        table = remote.redis(name, Profile, as_=system)
    with Rig(asked(table), spark, servers=addresses) as rig:
        rig.feed("payments", *paid(2, 1, 3, None, 1), b"torn")

        assert rig.rows("told", *TOLD[:4]) == [
            ("0", "Rome", Decimal("-2.00"), "1970-01-01"),
            ("1", 'Graz "south"', Decimal("1.50"), None),
            ("4", 'Graz "south"', Decimal("1.50"), None),
        ]
        assert [row[1:] for row in rig.rows("told", *TOLD[3:])[:2]] == [
            ("2026-03-01T10:00:00.123456Z", None, []),
            ("2026-03-01T10:00:00.123456Z", "A" * 120, ["a"]),
        ]
        assert rig.rows("missing", "payment_id") == [("2",), ("3",)]
        assert len(rig.dead_letters()) == 1
        assert rig._query is not None
        told = rig._query.recentProgress[0]["observedMetrics"]["lookup.profile"]
        counted = (told["in"], told["matched"], told["missing"], told["dead_letters"])
        assert counted == (6, 3, 2, 1)


@pytest.mark.parametrize(
    ("given", "questions"),
    [({}, 2), ({"fresh": seconds(0)}, 3), ({"cached": 10}, 3)],
    ids=repr,
)
def test_a_thousand_keys_are_one_question_unless_the_answers_are_known(
    spark: SparkSession,
    addresses: Addresses,
    redis_address: str,
    given: dict[str, Any],
    questions: int,
) -> None:
    name = f"p{uuid.uuid4().hex[:8]}"
    table = remote.redis(name, Profile, as_="json")
    with redis.Redis.from_url(redis_address) as client:
        before = client.info("commandstats").get("cmdstat_mget", {"calls": 0})["calls"]
        with Rig(asked(table, **given), spark, servers=addresses) as rig:
            rig.feed("payments", *paid(*range(2_000), *range(1_000)))
            assert len(rig.rows("missing")) == 3_000
        after = client.info("commandstats")["cmdstat_mget"]["calls"]

    assert after - before == questions


def test_a_row_that_does_not_fit_stops_the_query_by_name(
    spark: SparkSession, addresses: Addresses, postgres: str, table: str
) -> None:
    bank = asked(remote.postgres(table, Profile))
    with (
        psycopg.connect(postgres, autocommit=True) as connection,
        Rig(bank, spark, servers=addresses) as rig,
    ):
        change = SQL("alter table {} alter city drop not null").format(
            Identifier(table)
        )
        connection.execute(change)
        connection.execute(SQL("update {} set city = null").format(Identifier(table)))
        with pytest.raises(SchemaError, match="remote-row-unreadable"):
            rig.feed("payments", *paid(1))
        connection.execute(
            SQL("alter table {} drop column city").format(Identifier(table))
        )
        with pytest.raises(StepError, match="remote-refused"):
            rig.run()
        assert rig.rows("told") == []


@pytest.mark.parametrize("system", ["postgres", "redis"])
def test_a_server_that_is_away_stops_the_batch_and_answers_it_later(
    spark: SparkSession,
    own_server: Callable[[str], Stack],
    monkeypatch: pytest.MonkeyPatch,
    system: str,
) -> None:
    module = importlib.import_module("headrace.joins.asking")
    monkeypatch.setattr(module, "_PATIENCE", seconds(1))
    stack = own_server(system)
    servers = Addresses(load_settings(), stack)
    if system == "postgres":
        stored(sinks.postgres("profiles"), spark, servers)
        bank = asked(remote.postgres("profiles", Profile))
    else:
        stored(sinks.redis("profiles"), spark, servers)
        bank = asked(remote.redis("profiles", Profile))
    with Rig(bank, spark, servers=servers) as rig:
        rig.feed("payments", *paid(1))
        stack.down()
        with pytest.raises(DeliveryError, match="remote-unreachable"):
            rig.feed("payments", *paid(2))
        stack.up([system])
        rig.run()

        assert rig.rows("told", "city") == [('Graz "south"',), ("Rome",)]
