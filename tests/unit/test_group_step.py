"""Groups of a table: what they tell, and what is refused where it is declared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from headrace import Pipeline, StepError, Table, event, kafka, sinks
from headrace.plan.groups import GroupTable
from headrace.plan.states import state_owners
from support.harness.refusals import refused


@event(key="user_id")
class User:
    user_id: int
    city: str | None
    balance: Decimal
    age: int | None
    share: float
    tags: list[str]
    is_active: bool


@event(key="city")
class City:
    city: str
    country: str


@event(key="payment_id", time="made_at")
class Payment:
    payment_id: str
    city: str
    made_at: datetime


def users(pipeline: Pipeline | None = None) -> Table:
    return (pipeline or Pipeline("bank")).table(kafka("users", User))


def grouped(**aggregates: Any) -> Table:
    return users().group("by-city", by="city", **aggregates)


def step_of(table: Table) -> GroupTable:
    assert isinstance(table.step, GroupTable)
    return table.step


def test_a_group_is_a_table_keyed_by_its_columns() -> None:
    table = grouped(users="count(*)", total="sum(balance)", mean="avg(age)")

    assert table.key == ("city",)
    assert {field.name: field.type.sql for field in table.row} == {
        "city": "string",
        "users": "bigint",
        "total": "decimal(38,18)",
        "mean": "double",
    }
    assert [field.name for field in table.row if field.required] == ["users"]


def test_equal_totals_are_kept_once() -> None:
    step = step_of(
        grouped(
            total="sum(age)",
            mean="sum(age) / count(age)",
            oldest="max(age)",
            ages="count(distinct age)",
        )
    )

    functions = [total.function for total in step.totals]
    assert functions == ["sum", "count", "max", "distinct"]
    assert [value.text for value in step.values] == ["age"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("count(*)", [("rows", None)]),
        ("count(age)", [("count", "age")]),
        ("count_if(age > 1)", [("count", "CASE WHEN age > 1 THEN true END")]),
        (
            "count(*) filter (where age > 1)",
            [("count", "CASE WHEN age > 1 THEN true END")],
        ),
        (
            "sum(age) filter (where is_active)",
            [("sum", "CASE WHEN is_active THEN age END")],
        ),
        ("max(distinct age)", [("max", "age")]),
        (
            "count(distinct city, age)",
            [
                (
                    "distinct",
                    "CASE WHEN (city) IS NOT NULL AND (age) IS NOT NULL "
                    "THEN struct(city, age) END",
                )
            ],
        ),
        (
            "bool_and(is_active)",
            [
                ("count", "is_active"),
                ("count", "CASE WHEN NOT (is_active) THEN true END"),
            ],
        ),
        (
            "some(is_active)",
            [("count", "is_active"), ("count", "CASE WHEN is_active THEN true END")],
        ),
    ],
)
def test_an_aggregate_is_made_of_totals(
    text: str, wanted: list[tuple[str, str | None]]
) -> None:
    totals = step_of(grouped(told=text)).totals

    assert [(t.function, t.of and t.of.text) for t in totals] == wanted


def test_a_result_is_computed_from_totals() -> None:
    (told,) = step_of(grouped(mean="1 + sum(age) / count(*)")).told

    assert told.result.inside("_after") == "1 + _after.`_0` / _after.`_1`"
    (told,) = step_of(grouped(all="every(is_active) or count(*) = 1")).told
    assert told.result.inside("t") == (
        "CASE WHEN t.`_0` > 0 THEN t.`_1` = 0 END or t.`_2` = 1"
    )


def test_another_declaration_is_known_by_its_number() -> None:
    numbers = {
        step_of(grouped(told=text)).terms["declared"]
        for text in ("sum(age)", "sum(age + 1)", "max(age)", "sum(age)")
    }

    assert len(numbers) == 3


def test_a_group_explains_itself() -> None:
    bank = Pipeline("bank")
    table = users(bank).group(
        "by-city", by=("city", "age"), users="count(*)", least="min(balance)"
    )
    bank.write("cities", table.changes(), sinks.kafka("cities"))

    told = next(s for s in bank.explain()["steps"] if s["verb"] == "group")

    assert told["does"] == (
        '"by-city", by city, age: users = count(*), least = min(balance)'
    )
    assert told["engine"] == "operator"
    assert told["state"] == (
        "the totals and the different values (balance) of each city, age, as long as "
        "it has rows"
    )
    assert state_owners(bank.outputs) == ["by-city", "users"]


def test_a_table_of_groups_goes_on_like_any_other() -> None:
    bank = Pipeline("bank")
    cities = bank.table(kafka("cities", City))
    by_city = users(bank).group("by-city", by="city", users="count(*)")
    countries = (
        by_city.where("users > 1")
        .derive(many="users > 100")
        .join("placed", cities, on="city")
        .group("by-country", by="country", cities="count(*)", users="sum(users)")
    )
    bank.write("countries", countries, sinks.kafka("countries", key="country"))
    bank.view("countries", countries)

    assert countries.key == ("country",)
    assert countries.columns == ["country", "cities", "users"]
    # A row that goes from one partner to another is brought together by a second one.
    names = ["by-country", "placed", "by-city", "users", "cities"]
    assert state_owners(bank.outputs[:1]) == names


def test_a_join_by_reference_is_two_operators() -> None:
    bank = Pipeline("bank")
    placed = users(bank).join("placed", bank.table(kafka("cities", City)), on="city")
    bank.write("placed", placed, sinks.kafka("placed"))

    assert state_owners(bank.outputs) == ["placed", "placed", "users", "cities"]


@pytest.mark.parametrize(
    "text",
    [
        "last(age)",
        "collect_list(age)",
        "approx_count_distinct(age)",
        "stddev(age)",
        "max_by(age, balance)",
        "sum(age) + first(age)",
        "top(3, age)",
        "median(age)",
    ],
)
def test_what_no_row_can_be_taken_back_from_is_refused_by_name(text: str) -> None:
    with refused("aggregate-not-reversible"):
        grouped(told=text)


@pytest.mark.parametrize(
    ("slug", "declare"),
    [
        ("aggregates-missing", grouped),
        ("not-an-aggregate", lambda: grouped(age="age")),
        ("not-an-aggregate", lambda: grouped(told="sum(age) + age")),
        ("column-unknown", lambda: grouped(told="sum(height)")),
        ("column-unknown", lambda: grouped(told="count(*) filter (where height > 1)")),
        ("types-differ", lambda: grouped(told="sum(city)")),
        ("types-differ", lambda: grouped(told="count_if(age)")),
        ("types-differ", lambda: grouped(told="max(tags)")),
        ("types-differ", lambda: grouped(told="count(distinct tags, age)")),
        ("aggregate-unsupported", lambda: grouped(told="sum(distinct age)")),
        ("aggregate-unsupported", lambda: grouped(told="sum(max(age))")),
        ("aggregate-unsupported", lambda: grouped(told="sum(age) over ()")),
        ("aggregate-unsupported", lambda: grouped(told="max(age, 2)")),
        ("expression-not-steady", lambda: grouped(told="sum(age * rand())")),
        ("expression-not-steady", lambda: grouped(told="max(age) + rand()")),
        ("expression-unreadable", lambda: grouped(told=3)),
        ("expression-unreadable", lambda: grouped(told="sum(age")),
        ("column-taken", lambda: grouped(city="count(*)")),
        ("column-name-reserved", lambda: grouped(_n="count(*)")),
        ("name-refused", lambda: users().group("By City", by="city", n="count(*)")),
        ("table-needs-key", lambda: users().group("g", by=(), n="count(*)")),
        ("column-unknown", lambda: users().group("g", by="town", n="count(*)")),
        ("column-taken", lambda: users().group("g", by=("city",) * 2, n="count(*)")),
        ("key-type-unsupported", lambda: users().group("g", by="share", n="count(*)")),
        ("key-type-unsupported", lambda: users().group("g", by="tags", n="count(*)")),
    ],
)
def test_what_cannot_be_put_together_is_refused_by_name(
    slug: str, declare: Callable[[], Any]
) -> None:
    with refused(slug):
        declare()


def test_a_name_that_another_step_has_is_refused() -> None:
    bank = Pipeline("bank")
    table = users(bank).group("users", by="city", n="count(*)")

    with pytest.raises(StepError) as caught:
        bank.write("cities", table, sinks.kafka("cities"))
    assert caught.value.slug == "step-name-taken"


def test_a_stream_cannot_look_rows_up_in_groups() -> None:
    bank = Pipeline("bank")
    by_city = users(bank).group("by-city", by="city", users="count(*)")

    with refused("lookup-of-joined-table"):
        bank.read(kafka("payments", Payment)).join("j", by_city, on="city")
