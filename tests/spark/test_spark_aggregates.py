"""Spark agrees with what is told of aggregates without it, in whatever order."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import ByteType, FloatType, IntegerType, ShortType

from headrace.schema.types import (
    Exact,
    Field,
    Moment,
    Real,
    Record,
    Text,
    Truth,
    Unknown,
    Whole,
)
from headrace.windows.aggregates import read_aggregates, read_having
from headrace.windows.calls import AGGREGATES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = Record(
    (
        Field("card", Text()),
        Field("n", Whole()),
        Field("ratio", Real()),
        Field("ok", Truth()),
        Field("amount", Exact(12, 2)),
        Field("wide", Exact(36, 18)),
        Field("at", Moment()),
        Field("who", Record((Field("city", Text()),))),
    )
)
ORIGIN = "named_struct('topic', 't', 'partition', 0, 'offset', {}L)"
ROWS = [
    f"('{card}', {n}, {ratio}, {ok}, {amount}BD, 1.5BD, "
    f"timestamp'2026-01-01 10:0{minute}:00', named_struct('city', '{card}'), "
    f"{ORIGIN.format(offset)})"
    for offset, (card, n, ratio, ok, amount, minute) in enumerate(
        [
            ("b", "2L", "0.5D", "true", "9.90", 3),
            ("a", "null", "1.5D", "null", "0.10", 1),
            ("a", "5L", "double('nan')", "false", "7.00", 2),
            ("c", "5L", "-1D", "true", "7.00", 3),
        ]
    )
]


def events(spark: SparkSession, rows: list[str]) -> DataFrame:
    """Give events, in the order given, of which each is a row of SQL values."""
    names = ", ".join([*COLUMNS.names, "_origin"])
    frame = spark.sql(f"select * from values {', '.join(rows)} as t({names})")  # noqa: S608
    casts = {
        field.name: frame[field.name].cast(field.type.sql)
        for field in COLUMNS
        if isinstance(field.type, Exact)
    }
    return frame.withColumns(casts)


def functions(spark: SparkSession) -> set[str]:
    """Give the names of Spark's own aggregate functions."""
    catalog = spark._jsparkSession.sessionState().catalog()
    identifier = spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier  # type: ignore[union-attr]
    names = [row[0] for row in spark.sql("show system functions").collect()]
    return {
        name
        for name in names
        if name.isidentifier()
        and catalog.lookupFunctionInfo(identifier(name)).getGroup() == "agg_funcs"
    }


def test_all_of_sparks_aggregates_are_known(spark: SparkSession) -> None:
    # About groups of a query, and about views that define measures.
    elsewhere = {"grouping", "grouping_id", "measure"}

    assert functions(spark) - elsewhere == AGGREGATES - {"top", "schema_of_variant_agg"}


TYPED = [
    *("count(*)", "count(distinct card)", "count(distinct card, n)", "count_if(ok)"),
    *("approx_count_distinct(card)", "sum(n)", "sum(ratio)", "sum(amount)"),
    *("sum(wide)", "sum(length(card))", "avg(n)", "avg(ratio)", "avg(amount)"),
    *("avg(wide)", "try_sum(amount)", "try_avg(n)", "mean(n)", "stddev(n)"),
    *("var_pop(amount)", "corr(n, ratio)", "covar_samp(n, n)", "skewness(n)"),
    *("median(n)", "median(amount)", "percentile(n, 0.5)", "regr_count(n, n)"),
    *("percentile_approx(amount, 0.5)", "approx_percentile(n, 0.9, 100)"),
    *("min(card)", "max(at)", "first(amount)", "last(n)", "any_value(ok)"),
    *("last(n) filter (where ok) ignore nulls", "first(n, true)", "mode(card)"),
    *("max_by(card, amount)", "min_by(at, n)", "max_by(amount, n, 2)"),
    *("top(2, amount)", "top(2, card, n)", "collect_list(card)", "collect_set(n)"),
    *("array_agg(amount)", "collect_list(length(card))", "bool_and(ok)", "some(ok)"),
    *("every(ok)", "any(ok)", "bit_or(n)", "listagg(card, ',')", "string_agg(card)"),
    *("listagg(card, '-') within group (order by card)", "max(who).city"),
    *("sum(n) / count(*)", "sum(n) + count(*) * 2", "max(n) > 3", "upper(max(card))"),
    *("sum(n) filter (where ok)", "size(collect_list(n))", "max(length(card))"),
    *("collect_list(n) respect nulls", "mode() within group (order by n)"),
    *("percentile_cont(0.5) within group (order by n)", "collect_list(distinct n)"),
    *("transform(collect_list(n), x -> x + 1)", "max(distinct n)", "last(who)"),
]


def test_types_are_what_spark_gives(spark: SparkSession) -> None:
    texts = {f"x{number}": text for number, text in enumerate(TYPED)}
    told = read_aggregates(texts, COLUMNS, "at", "here")
    frame = events(spark, ROWS)
    found = frame.selectExpr(*(f"{a.sql} as {a.name}" for a in told)).schema

    # Numbers of fewer bits are widened where a pane becomes a row.
    narrow = (ByteType, ShortType, IntegerType, FloatType)
    wrong = {
        a.text: (a.type.sql, found[a.name].dataType.simpleString())
        for a in told
        if not isinstance(a.type, Unknown)
        and a.type.sql != found[a.name].dataType.simpleString()
        and not isinstance(found[a.name].dataType, narrow)
    }
    assert not wrong
    assert sum(not isinstance(a.type, Unknown) for a in told) > len(TYPED) * 0.8


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("first(card)", "a"),
        ("last(card)", "c"),
        ("first(n) ignore nulls", 5),
        ("first(n)", None),
        ("last(card) filter (where ok)", "c"),
        ("count(distinct card)", 3),
        ("count(distinct ratio)", 4),
        ("count(distinct card, n)", 3),
        ("count(distinct card) filter (where n = 2)", 1),
        ("count(distinct n) filter (where n > 9)", 0),
        ("collect_list(n)", [5, 2, 5]),
        ("collect_list(n) respect nulls", [None, 5, 2, 5]),
        ("array_agg(card)", ["a", "a", "b", "c"]),
        ("collect_set(card)", ["a", "b", "c"]),
        ("collect_list(card) filter (where n > 9)", []),
        ("listagg(card, '-')", "a-a-b-c"),
        ("listagg(card) filter (where n > 9)", None),
        ("mode(n)", 5),
        ("mode(ok)", True),
        ("max_by(card, n)", "c"),
        ("min_by(card, amount) filter (where n = 5)", "a"),
        ("max_by(card, n, 2)", ["c", "a"]),
        ("top(2, n)", [5, 5]),
        ("top(9, n)", [5, 5, 2]),
        ("top(2, card, n)", ["c", "a"]),
        ("top(1, n) filter (where n > 9)", []),
    ],
)
def test_a_result_does_not_depend_on_the_order_of_arrival(
    spark: SparkSession, text: str, value: Any
) -> None:
    (told,) = read_aggregates({"x": text}, COLUMNS, "at", "here")
    found = [
        events(spark, list(rows)).coalesce(1).selectExpr(f"{told.sql} as x").first()
        for rows in itertools.islice(itertools.permutations(ROWS), 0, None, 7)
    ]

    assert [row and row.x for row in found] == [value] * len(found)


def test_having_is_true_of_what_the_aggregates_give(spark: SparkSession) -> None:
    texts = {"n": "count(*) -- all", "who": "last(who)", "most": "max(amount)"}
    told = read_aggregates(texts, COLUMNS, "at", "here")
    having = read_having("n > 3 and who.city = 'c' and `most` < 10", told, "here")

    assert events(spark, ROWS).selectExpr(f"{having} as x").first() == (True,)
