"""Groups of a table as a step among others, in whole pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace import HeadraceError, Pipeline, Table, event, kafka, sinks
from headrace.testing import Rig, Tombstone

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("one_partition")


@event(key="user_id")
class User:
    user_id: str
    city: str | None
    balance: int


@event(key="city")
class City:
    city: str
    country: str


def users(pipeline: Pipeline) -> Table:
    return pipeline.table(kafka("users", User))


def by_city(pipeline: Pipeline, table: Table | None = None) -> Table:
    rows = table or users(pipeline)
    return rows.group("by-city", by="city", users="count(*)", total="sum(balance)")


def written(declare: Callable[[Pipeline], Table], key: str | None = None) -> Pipeline:
    bank = Pipeline("bank")
    bank.write("told", declare(bank), sinks.kafka("told", key=key))
    return bank


def moved_to(rig: Rig, pipeline: Pipeline) -> None:
    """Go on with another version of the pipeline, on the same checkpoint."""
    rig._pipeline = pipeline
    rig._sinks._pipeline = pipeline


def test_a_group_follows_the_rows_of_its_table(spark: SparkSession) -> None:
    bank = written(by_city)
    with Rig(bank, spark) as rig:
        rig.feed("users", User("a", "Rome", 5), User("b", "Rome", 7), b"{")
        assert rig.table("told", "users", "total") == {"Rome": (2, 12)}

        rig.feed("users", User("a", "Oslo", 5), User("c", "Bern", 1))
        rig.crash()
        assert rig.table("told", "users", "total") == {
            "Rome": (1, 7),
            "Oslo": (1, 5),
            "Bern": (1, 1),
        }

        rig.feed("users", Tombstone("b"), User("c", "Rome", 2), Tombstone("a"))
        rig.restart()
        assert rig.table("told", "users", "total") == {"Rome": (1, 2)}
        assert len(rig.dead_letters()) == 1


def test_what_follows_a_group_stays_right(spark: SparkSession) -> None:
    bank = Pipeline("bank")
    cities = bank.table(kafka("cities", City))
    groups = by_city(bank)
    large = groups.where("total >= 10").derive(mean="total / users")
    placed = groups.join("placed", cities, on="city")
    countries = placed.group(
        "countries", by="country", users="sum(users)", most="max(total)"
    )
    bank.write("large", large.select("city", "mean"), sinks.kafka("large", key="city"))
    bank.write("countries", countries, sinks.kafka("countries"))
    bank.write("changes", groups.changes(), sinks.kafka("changes"))
    with Rig(bank, spark) as rig:
        rig.feed("cities", City("Rome", "it"), City("Pisa", "it"))
        rig.feed("users", User("a", "Rome", 9), User("b", "Rome", 4))
        rig.feed("users", User("b", "Pisa", 20))
        assert rig.table("large", "mean") == {"Pisa": (20.0,)}
        assert rig.table("countries", "users", "most") == {"it": (2, 20)}

        rig.feed("users", Tombstone("a"))
        rig.feed("cities", City("Pisa", "fr"))
        assert rig.table("countries", "users", "most") == {"fr": (1, 20)}
        told = rig.rows("changes", "op", "before")
        assert [op for op, _ in (told[0], told[-1])] == ["insert", "delete"]
        assert sorted(op for op, _ in told[1:-1]) == ["insert", "update"]
        assert told[-1][1] == {"city": "Rome", "users": 1, "total": 9}


def test_null_is_a_group_of_its_own_in_a_view(spark: SparkSession) -> None:
    bank = Pipeline("bank")
    bank.view("cities", by_city(bank))
    with Rig(bank, spark) as rig:
        rig.feed("users", User("a", None, 5), User("b", "Rome", 7))
        keyed = {'{"city":null}': (1, 5), '{"city":"Rome"}': (1, 7)}
        assert rig.table("view-cities", "users", "total") == keyed

        rig.feed("users", User("a", "Rome", 5))
        assert rig.table("view-cities", "total") == {'{"city":"Rome"}': (12,)}


def stopped(rig: Rig, *rows: Any) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        rig.feed("users", *rows)
    return caught.value


def test_a_row_without_a_key_stops_an_output(spark: SparkSession) -> None:
    with Rig(written(by_city, key="city"), spark) as rig:
        rig.feed("users", User("a", "Rome", 5))
        error = stopped(rig, User("b", None, 5))

    assert error.slug == "row-without-key"
    assert "coalesce(city, 'none')" in (error.hint or "")


def test_a_sum_beyond_its_type_stops_the_pipeline_unless_it_is_passing(
    spark: SparkSession,
) -> None:
    most = 2**63 - 1
    with Rig(written(by_city, key="city"), spark) as rig:
        rig.feed("users", User("a", "Rome", most), User("b", "Rome", -1))
        rig.feed("users", User("c", "Rome", 2), User("b", "Rome", -2))
        assert rig.table("told", "total") == {"Rome": (most,)}
        error = stopped(rig, User("c", "Rome", 3))

    assert error.slug == "sum-too-large"
    assert "BIGINT" in (error.detail or "")


def test_totals_of_another_declaration_are_not_gone_on_with(
    spark: SparkSession,
) -> None:
    def counted(pipeline: Pipeline) -> Table:
        return users(pipeline).group("by-city", by="city", users="count(balance)")

    with Rig(written(by_city, key="city"), spark) as rig:
        rig.feed("users", User("a", "Rome", 5))
        moved_to(rig, written(counted, key="city"))
        error = stopped(rig, User("b", "Rome", 5))

    assert error.slug == "group-changed"
    assert "headrace tables rebuild" in (error.hint or "")


def test_a_row_that_was_never_added_is_not_taken_back(spark: SparkSession) -> None:
    def poor(pipeline: Pipeline) -> Table:
        return by_city(pipeline, users(pipeline).where("balance < 10"))

    with Rig(written(poor, key="city"), spark) as rig:
        rig.feed("users", User("a", "Rome", 50))
        moved_to(rig, written(by_city, key="city"))
        error = stopped(rig, User("a", "Rome", 5), Tombstone("a"))

    assert error.slug == "group-out-of-step"
