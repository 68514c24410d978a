"""Aggregates are checked, typed and rewritten without Spark."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headrace import StepError
from headrace.schema.types import (
    Choice,
    Exact,
    Field,
    ListOf,
    Moment,
    Real,
    Record,
    Text,
    Truth,
    Uuid,
    Whole,
)
from headrace.windows.aggregates import Aggregate, read_aggregates, read_having
from headrace.windows.calls import calls

WHO = Record((Field("city", Text()), Field("zip", Whole(), required=False)))
COLUMNS = Record(
    (
        Field("card", Text()),
        Field("n", Whole()),
        Field("ratio", Real()),
        Field("ok", Truth()),
        Field("amount", Exact(12, 2)),
        Field("wide", Exact(38, 36)),
        Field("at", Moment()),
        Field("level", Choice(("low", "high"))),
        Field("id", Uuid()),
        Field("tags", ListOf(Text())),
        Field("who", WHO),
        Field("order", Whole()),
        Field("first", Whole()),
    )
)
ORDER = "`at`, _origin.partition, _origin.offset, _origin.topic"


def read(text: str, time: str | None = "at") -> Aggregate:
    (found,) = read_aggregates({"x": text}, COLUMNS, time, "here")
    return found


def refused(text: str) -> StepError:
    with pytest.raises(StepError) as caught:
        read(text)
    assert caught.value.where == "here"
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        *("count(*)", "count(1)", "COUNT( n )", "sum(n * 2)", "avg(ratio)"),
        *("sum(n) / count(*)", "max(at)", "percentile_approx(n, 0.5)"),
        *("stddev(n)", "approx_count_distinct(card)", "approx_top_k(card, 3)"),
        *("count(*) filter (where n > 1)", "max(n) /* most */ -- really"),
        *("percentile_cont(0.5) within group (order by n desc)", "sum(`order`)"),
        *("max(who.zip)", "sum(aggregate(tags, 0L, (acc, t) -> acc + length(t)))"),
        *("count_if(card = 'first(x)')", "max(first)", "regr_slope(n, ratio)"),
    ],
)
def test_what_does_not_depend_on_arrival_stays_as_it_was_written(text: str) -> None:
    found = read(text)

    assert found.sql.replace(" ", "").lower() == text.replace(" ", "").lower()
    assert found.text == text


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("first(n)", f"min_by(n, struct({ORDER}))"),
        ("any_value(n)", f"min_by(n, struct({ORDER}))"),
        ("first_value(n)", f"min_by(n, struct({ORDER}))"),
        ("last(n + 1)", f"max_by(n + 1, struct({ORDER}))"),
        ("last_value(n)", f"max_by(n, struct({ORDER}))"),
        (
            "first(n) filter (where ok) ignore nulls",
            f"min_by(n, if((n) is null, null, struct({ORDER}))) filter (where ok)",
        ),
        ("last(n, true)", f"max_by(n, if((n) is null, null, struct({ORDER})))"),
        ("count(distinct card)", "cast(size(collect_set(card)) as bigint)"),
        (
            "count(distinct card, n)",
            "cast(size(collect_set(if((card) is null or (n) is null, null, "
            "struct(card, n)))) as bigint)",
        ),
        (
            "count(distinct card) filter (where n > 1)",
            "cast(size(collect_set(card) filter (where n > 1)) as bigint)",
        ),
        ("collect_set(n)", "array_sort(collect_set(n))"),
        ("collect_list(distinct n)", "array_sort(collect_set(n))"),
        (
            "array_agg(n)",
            f"transform(array_sort(collect_list(if((n) is null, null, "
            f"struct({ORDER}, n as _value)))), _event -> _event._value)",
        ),
        (
            "collect_list(n) respect nulls",
            f"transform(array_sort(collect_list(struct({ORDER}, n as _value))), "
            "_event -> _event._value)",
        ),
        ("mode(n)", "mode(n, true)"),
        (
            "max_by(card, n)",
            f"max_by(card, if((n) is null, null, struct(n, {ORDER})))",
        ),
        (
            "min_by(card, n, 2)",
            f"min_by(card, if((n) is null, null, struct(n, {ORDER})), 2)",
        ),
        ("top(3, n)", "coalesce(max_by(n, n, 3), array())"),
        (
            "top(3, card, n)",
            f"coalesce(max_by(card, if((n) is null, null, struct(n, {ORDER})), 3), "
            "array())",
        ),
        ("max(distinct n)", "max(n)"),
        ("listagg(card) within group (order by n)", None),
    ],
)
def test_what_depends_on_arrival_is_put_in_the_order_of_events(
    text: str, sql: str | None
) -> None:
    assert read(text).sql == (sql or text)


def test_texts_are_joined_in_the_order_of_events() -> None:
    sql = read("string_agg(card, ', ')").sql

    assert sql.startswith("if(count(card) = 0, null, array_join(transform(array_sort(")
    assert sql.endswith(", ', '))")


def test_only_the_calls_are_replaced() -> None:
    assert read("1 + first(n) * 2 /* first(n) */ + count(*)").sql == (
        f"1 + min_by(n, struct({ORDER})) * 2 /* first(n) */ + count(*)"
    )


def test_without_an_event_time_the_place_in_the_topic_decides() -> None:
    assert read("first(n)", time=None).sql == (
        "min_by(n, struct(_origin.partition, _origin.offset, _origin.topic))"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("count(*)", "bigint"),
        ("count(distinct card)", "bigint"),
        ("count_if(ok)", "bigint"),
        ("approx_count_distinct(card)", "bigint"),
        ("sum(n)", "bigint"),
        ("sum(length(card))", "bigint"),
        ("sum(ratio)", "double"),
        ("sum(amount)", "decimal(22,2)"),
        ("sum(wide)", "decimal(38,36)"),
        ("sum(amount * 2)", "void"),
        ("avg(n)", "double"),
        ("mean(ratio)", "double"),
        ("avg(amount)", "decimal(16,6)"),
        ("avg(wide)", "decimal(38,38)"),
        ("stddev(n)", "double"),
        ("median(amount)", "double"),
        ("percentile(n, 0.5)", "double"),
        ("percentile_approx(amount, 0.5)", "decimal(12,2)"),
        ("percentile_approx(n, array(0.5))", "void"),
        ("min(card)", "string"),
        ("max(at)", "timestamp"),
        ("last(who)", "struct<city:string,zip:bigint>"),
        ("max_by(card, n)", "string"),
        ("max_by(card, n, 3)", "array<string>"),
        ("top(3, n)", "array<bigint>"),
        ("collect_list(amount)", "array<decimal(12,2)>"),
        ("collect_list(length(card))", "void"),
        ("bool_and(ok)", "boolean"),
        ("listagg(card, ',')", "string"),
        ("sum(n) + count(*)", "bigint"),
        ("sum(n) / count(*)", "double"),
        ("sum(n) > 3", "boolean"),
        ("upper(max(card))", "string"),
        ("approx_top_k(card, 3)", "void"),
        ("count(*) filter (where ok)", "bigint"),
    ],
)
def test_types_are_told_without_spark(text: str, told: str) -> None:
    assert read(text).type.sql == told


def test_what_a_column_is_beyond_its_type_stays_with_it() -> None:
    assert read("max(level)").type == Choice(("low", "high"))
    assert read("collect_set(id)").type == ListOf(Uuid())


def test_only_a_count_is_never_null() -> None:
    required = [t for t in ("count(n)", "sum(n)", "max(n)") if read(t).required]

    assert required == ["count(n)"]


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("sum(card)", "types-differ"),
        ("avg(at)", "types-differ"),
        ("sum(tags)", "types-differ"),
        ("corr(n, card)", "types-differ"),
        ("count_if(n)", "types-differ"),
        ("bool_or(card)", "types-differ"),
        ("sum(n) + max(card)", "types-differ"),
        ("sum(n + card)", "types-differ"),
        ("sum(cents)", "column-unknown"),
        ("count(*) filter (where cents > 1)", "column-unknown"),
        ("mode() within group (order by cents)", "column-unknown"),
        ("n + 1", "not-an-aggregate"),
        ("1", "not-an-aggregate"),
        ("n + sum(n)", "not-an-aggregate"),
        ("sum(max(n))", "aggregate-unsupported"),
        ("max(n) over (partition by card)", "aggregate-unsupported"),
        ("row_number()", "aggregate-unsupported"),
        ("lag(n)", "aggregate-unsupported"),
        ("(select max(n))", "aggregate-unsupported"),
        ("sum(distinct n)", "aggregate-unsupported"),
        ("top(n, n)", "aggregate-unsupported"),
        ("top(0, n)", "aggregate-unsupported"),
        ("top(3)", "aggregate-unsupported"),
        ("max_by(card)", "aggregate-unsupported"),
        ("sum(explode(tags))", "expression-not-per-event"),
        ("explode(collect_list(n))", "expression-not-per-event"),
        ("sum(n", "expression-unreadable"),
        ("count(*) as n", "expression-unreadable"),
        ("sum(n), max(n)", "expression-unreadable"),
        ("count(*) filter (where n)", "condition-not-boolean"),
    ],
)
def test_what_no_window_can_tell_is_refused(text: str, slug: str) -> None:
    assert refused(text).slug == slug


def test_a_refusal_speaks_the_users_words() -> None:
    assert refused("sum(n) + max(card)").fact == (
        "`sum(n) + max(card)` computes with a text"
    )
    assert refused("sum(card)").fact == "sum computes with `card` of type string"
    assert "`n` stands outside" in (refused("n + sum(n)").detail or "")


def test_an_aggregate_is_a_text() -> None:
    with pytest.raises(StepError) as caught:
        read_aggregates({"x": 5}, COLUMNS, "at", "here")  # type: ignore[dict-item]

    assert caught.value.slug == "expression-unreadable"
    assert caught.value.hint is not None
    assert 'x="count(*)"' in caught.value.hint


def test_there_is_an_aggregate() -> None:
    with pytest.raises(StepError) as caught:
        read_aggregates({}, COLUMNS, "at", "here")

    assert caught.value.slug == "aggregates-missing"


def test_calls_are_found_with_all_that_belongs_to_them() -> None:
    text = "f(sum(a[1, 2], 'x,(')) + mode() within group (order by b desc, c)"

    one, two = calls(text)

    assert (one.name, one.arguments) == ("sum", ("a[1, 2]", "'x,('"))
    assert (two.name, two.arguments, two.within) == ("mode", (), ("b", "c"))
    assert text[two.start : two.end] == "mode() within group (order by b desc, c)"
    assert calls("x.sum(1) + `count`(2) + counted(3) + 'sum(4)'") == []


def test_having_is_told_in_terms_of_events() -> None:
    found = read_aggregates(
        {"n": "count(*) -- all", "most": "max(amount)", "who": "last(who)"},
        *(COLUMNS, "at", "here"),
    )

    assert read_having("n > 1 and `most` < 9 or who.zip = n", found, "here") == (
        "(count(*) -- all\n) > 1 and (max(amount)\n) < 9 or "
        f"(max_by(who, struct({ORDER}))\n).zip = (count(*) -- all\n)"
    )


@pytest.mark.parametrize(
    ("having", "slug"),
    [
        ("card = 'a'", "column-unknown"),
        ("n", "condition-not-boolean"),
        ("sum(n) > 1", "expression-not-per-event"),
        ("n > 'a'", "types-differ"),
        ("n >", "expression-unreadable"),
    ],
)
def test_having_looks_at_aggregates_alone(having: str, slug: str) -> None:
    found = read_aggregates({"n": "count(*)"}, COLUMNS, "at", "here")

    with pytest.raises(StepError) as caught:
        read_having(having, found, "here")

    assert caught.value.slug == slug


def test_the_parser_is_loaded_when_it_is_needed_and_not_before() -> None:
    program = "import sys, headrace.stream; print('sqlglot' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"
