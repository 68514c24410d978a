"""Tables in whole pipelines: verbs, deletions, topics of upserts, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from headrace import (
    HeadraceError,
    Pipeline,
    cdc,
    days,
    event,
    kafka,
    minutes,
    sinks,
    tumbling,
)
from headrace.testing import Rig, Tombstone, captured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPIC = "bank.public.users"
AT = datetime(2026, 3, 1, 10, tzinfo=UTC)


@event(key="user_id")
class User:
    user_id: int
    city: str
    balance: int
    note: str | None = None


def users(pipeline: Pipeline, **options: Any) -> Any:
    return pipeline.table(cdc.postgres("bank", "public.users", User), **options)


def bank() -> Pipeline:
    made = Pipeline("bank")
    table = users(made)
    rich = table.where("balance >= 100").derive(double="balance * 2")
    made.write("users", table, sinks.kafka("users"))
    made.write("rich", rich.select("user_id", "double"), sinks.kafka("rich"))
    made.write("changes", table.changes(), sinks.kafka("user-changes"))
    made.write("rich-changes", rich.changes(), sinks.kafka("rich-changes"))
    return made


@pytest.fixture
def rig(spark: SparkSession) -> Iterator[Rig]:
    with Rig(bank(), spark) as rig:
        yield rig


def insert(user: int, balance: int, position: int, **more: Any) -> bytes:
    return captured("insert", User(user, "Rome", balance), position=position, **more)


def delete(user: int, position: int) -> bytes:
    return captured("delete", {"user_id": user}, position=position)


def test_a_table_is_sent_its_rows_and_their_deletions(rig: Rig) -> None:
    rig.feed(TOPIC, insert(1, 50, 1), insert(2, 150, 2))
    rig.feed(TOPIC, delete(1, 3), None, insert(3, 7, 4))

    assert rig.table("users", "balance") == {"2": (150,), "3": (7,)}
    assert sorted(rig.rows("users", "user_id")) == [(1,), (2,), (3,)]


def test_a_row_that_no_longer_meets_a_condition_is_deleted_there(rig: Rig) -> None:
    rig.feed(TOPIC, insert(1, 50, 1), insert(2, 150, 2))
    assert rig.table("rich") == {"2": (2, 300)}

    rig.feed(TOPIC, captured("update", User(2, "Oslo", 99), position=3))
    rig.feed(TOPIC, captured("update", User(1, "Oslo", 100), position=4))

    assert rig.table("rich") == {"1": (1, 200)}


def test_what_a_condition_never_kept_is_not_deleted(rig: Rig) -> None:
    rig.feed(TOPIC, insert(1, 50, 1))
    rig.feed(TOPIC, delete(1, 2))

    assert rig.rows("rich-changes", "op") == []


def test_the_changes_of_a_table_are_those_of_its_own_rows(rig: Rig) -> None:
    rig.feed(TOPIC, insert(1, 120, 1))
    rig.feed(TOPIC, captured("update", User(1, "Oslo", 130), position=2))
    rig.feed(TOPIC, captured("update", User(1, "Oslo", 99), position=3))

    assert rig.rows("changes", "op") == [("insert",), ("update",), ("update",)]
    assert rig.rows("rich-changes", "op") == [("insert",), ("update",), ("delete",)]
    *_, (before, after) = rig.rows("rich-changes", "before", "after")
    assert after is None
    assert before["double"] == 260


def test_a_restart_and_a_crash_change_nothing(rig: Rig) -> None:
    rig.feed(TOPIC, insert(1, 50, 1), insert(2, 150, 2))
    rig.feed(TOPIC, delete(1, 3))
    before = [rig._sent(name) for name in ("users", "rich")]
    sent = [list(found) for found in before]

    rig.crash()
    rig.restart()
    assert [list(rig._sent(name)) for name in ("users", "rich")] == sent

    rig.feed(TOPIC, captured("update", User(2, "Oslo", 1), position=4))
    assert rig.table("users", "city") == {"2": ("Oslo",)}
    assert rig.table("rich") == {}


def test_a_change_of_the_key_moves_the_row(rig: Rig) -> None:
    rig.feed(TOPIC, insert(1, 50, 1))
    # As the connector tells it: both at one position, with a tombstone between.
    rig.feed(TOPIC, delete(1, 5), None, insert(9, 50, 5))

    assert rig.table("users", "user_id") == {"9": (9,)}


def test_a_value_that_was_not_sent_stays(rig: Rig) -> None:
    first = User(1, "Rome", 1, "a long note")
    rig.feed(TOPIC, captured("snapshot", first, position=10))
    update = captured("update", User(1, "Oslo", 2), position=11, unsent=["note"])
    rig.feed(TOPIC, update)

    assert rig.table("users", "city", "note") == {"1": ("Oslo", "a long note")}


def test_a_value_that_is_not_known_stops_the_pipeline(rig: Rig) -> None:
    update = captured("update", User(1, "Oslo", 2), position=11, unsent=["note"])

    with pytest.raises(HeadraceError) as caught:
        rig.feed(TOPIC, update)

    assert caught.value.slug == "value-not-sent"
    assert "REPLICA IDENTITY FULL" in (caught.value.hint or "")
    assert "note" in (caught.value.detail or "")


def test_a_key_that_is_not_told_stops_the_pipeline(rig: Rig) -> None:
    with pytest.raises(HeadraceError) as caught:
        rig.feed(TOPIC, captured("delete", {"city": "Rome"}))

    assert caught.value.slug == "table-key-missing"


def test_a_truncation_stops_the_pipeline_and_writes_nothing(rig: Rig) -> None:
    rig.feed(TOPIC, insert(1, 50, 1))

    with pytest.raises(HeadraceError) as caught:
        rig.feed(TOPIC, delete(1, 2), captured("truncate"))

    assert caught.value.slug == "table-truncated"
    assert rig.table("users", "balance") == {"1": (50,)}
    assert rig.dead_letters() == []


def test_the_rows_of_another_class_are_not_misread(spark: SparkSession) -> None:
    first, second = Pipeline("shop"), Pipeline("shop")

    @event(key="user_id")
    class Grown:
        user_id: int
        city: str
        balance: int
        note: str | None = None
        age: int | None = None

    first.write("users", users(first), sinks.kafka("users"))
    table = second.table(cdc.postgres("bank", "public.users", Grown))
    second.write("users", table, sinks.kafka("users"))
    with Rig(first, spark) as rig:
        rig.feed(TOPIC, insert(1, 50, 1))
        rig._pipeline = second
        rig._sinks._pipeline = second

        with pytest.raises(HeadraceError) as caught:
            rig.feed(TOPIC, insert(1, 60, 2))

    assert caught.value.slug == "table-class-changed"
    assert "headrace tables rebuild" in (caught.value.hint or "")


def test_a_stream_of_changes_can_be_filtered_and_put_into_windows(
    spark: SparkSession,
) -> None:
    watch = Pipeline("watch")
    changes = watch.changes(cdc.postgres("bank", "public.users", User))
    moved = changes.where("op = 'update' and after.city <> before.city")
    counts = changes.window("each", tumbling(minutes(5)), by="op", changes="count(*)")
    watch.write("moved", moved.select(who="after.user_id"), sinks.kafka("moved"))
    watch.write("counts", counts.select("op", "changes"), sinks.kafka("counts"))
    with Rig(watch, spark) as rig:
        rome, oslo = User(1, "Rome", 1), User(1, "Oslo", 1)
        rig.feed(
            TOPIC,
            captured("insert", rome, at=AT),
            captured("update", oslo, before=rome, at=AT + timedelta(minutes=1)),
            captured("update", oslo, before=oslo, at=AT + timedelta(minutes=2)),
        )
        rig.advance(AT + timedelta(minutes=5))

        assert rig.rows("moved") == [(1,)]
        assert sorted(rig.rows("counts")) == [("insert", 1), ("update", 2)]


def test_the_changes_of_a_table_can_be_put_into_windows(spark: SparkSession) -> None:
    watch = Pipeline("watch")
    changes = users(watch).changes()
    counts = changes.window("each", tumbling(minutes(5)), by="op", changes="count(*)")
    watch.write("counts", counts.select("op", "changes"), sinks.kafka("counts"))
    with Rig(watch, spark) as rig:
        rig.feed(TOPIC, insert(1, 1, 1, at=AT), insert(2, 1, 2, at=AT))
        rig.feed(TOPIC, insert(3, 1, 3, at=AT + timedelta(minutes=6)))

        assert rig.rows("counts") == [("insert", 2)]


def test_a_table_is_kept_by_several_columns(spark: SparkSession) -> None:
    shop = Pipeline("shop")
    lines = shop.table(
        cdc.postgres("shop", "public.lines", Line), key=("order", "line")
    )
    named = lines.derive(id="concat_ws('/', `order`, line)")
    shop.write("lines", named, sinks.kafka("lines", key="id"))
    with Rig(shop, spark) as rig:
        rig.feed("shop.public.lines", captured("insert", Line(1, 1, "nut")))
        rig.feed("shop.public.lines", captured("insert", Line(1, 2, "nail")))
        gone = captured("delete", {"order": 1, "line": 1}, position=2)
        rig.feed("shop.public.lines", gone)

        assert rig.table("lines", "what") == {"1/2": ("nail",)}


@event()
class Line:
    order: int
    line: int
    what: str


@event(key="name")
class Profile:
    name: str
    city: str


@pytest.fixture
def profiles(spark: SparkSession) -> Iterator[Rig]:
    made = Pipeline("profiles")
    table = made.table(kafka("profiles", Profile), remember_deleted=days(1))
    made.write("here", table.where("city <> 'Oslo'"), sinks.kafka("here"))
    with Rig(made, spark) as rig:
        yield rig


def test_a_topic_of_rows_is_a_table(profiles: Rig) -> None:
    profiles.feed("profiles", Profile("ann", "Rome"), Profile("bob", "Rome"))
    profiles.feed("profiles", Profile("ann", "Bonn"), Tombstone("bob"))
    assert profiles.table("here", "city") == {"ann": ("Bonn",)}

    profiles.feed("profiles", Profile("ann", "Oslo"), Profile("bob", "Rome"))
    assert profiles.table("here", "city") == {"bob": ("Rome",)}


def test_a_topics_own_order_counts_whatever_the_times_say(profiles: Rig) -> None:
    profiles.feed("profiles", Profile("ann", "Rome"), recorded_at=AT)
    earlier = AT - timedelta(hours=1)
    profiles.feed("profiles", Profile("ann", "Bonn"), recorded_at=earlier)

    assert profiles.table("here", "city") == {"ann": ("Bonn",)}


def test_between_partitions_the_later_record_counts(profiles: Rig) -> None:
    profiles.feed("profiles", Profile("ann", "Rome"), recorded_at=AT, partition=1)
    earlier = AT - timedelta(hours=1)
    profiles.feed("profiles", Profile("ann", "Bonn"), recorded_at=earlier)
    profiles.feed("profiles", Tombstone("ann"), recorded_at=earlier)

    assert profiles.table("here", "city") == {"ann": ("Rome",)}


def test_what_a_topic_of_rows_holds_beside_them_is_a_dead_letter(profiles: Rig) -> None:
    profiles.feed("profiles", Profile("ann", "Rome"), b"{", None, b'{"name": "eve"}')

    assert sorted(letter.reason for letter in profiles.dead_letters()) == [
        "field-missing",
        "json-malformed",
        "value-missing",
    ]
    assert profiles.table("here", "city") == {"ann": ("Rome",)}


def test_a_deletion_of_what_is_not_there_is_nothing(profiles: Rig) -> None:
    profiles.feed("profiles", Tombstone("ann"))

    assert list(profiles._sent("here")) == []
