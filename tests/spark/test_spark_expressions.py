"""Spark agrees with what is told of expressions without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as sql
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    StringType,
    TimestampType,
)

from headrace import StepError
from headrace.schema.expressions import read_expression
from headrace.schema.types import (
    Day,
    Exact,
    Field,
    FieldType,
    ListOf,
    Moment,
    Real,
    Record,
    Text,
    Truth,
    Unknown,
    Whole,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ITEM = Record((Field("sku", Text()), Field("n", Whole())))
COLUMNS = Record(
    (
        Field("a", Whole()),
        Field("b", Whole()),
        Field("order", Whole()),
        Field("case", Whole()),
        Field("name", Text()),
        Field("timestamp", Text()),
        Field("flag", Truth()),
        Field("ratio", Real()),
        Field("amount", Exact(12, 2)),
        Field("at", Moment()),
        Field("day", Day()),
        Field("who", Record((Field("city", Text()), Field("zip", Whole())))),
        Field("items", ListOf(ITEM)),
        Field("nums", ListOf(Whole())),
    )
)
ROWS = """
    (1L, -2L, 3L, 4L, 'ann', 'b', true, 1.5D, 9.90BD, timestamp'2026-03-29 10:15:30',
     date'2026-03-29', named_struct('city', 'a', 'zip', 7L),
     array(named_struct('sku', 'x', 'n', 2L)), array(1L, 2L, null)),
    (null, 5L, null, 0L, null, 'a', null, null, null, null,
     null, null, array(), array()),
    (0L, null, -7L, 1L, 'a + b', null, false, -0.5D, -1BD,
     timestamp'1999-12-31 23:59:59.999999', date'1999-12-31',
     named_struct('city', null, 'zip', null), null, null)
"""

WHOLE = ["a", "b", "order", "`case`", "`a`", "who.zip", "1", "-3L", "size(nums)"]
TEXTS = [
    *("name", "timestamp", "who.city", "`name`", "'a'", "'a + b'", '"order"'),
    *("'it''s a'", "concat_ws(',', items.sku)", "items.sku[0]"),
]
TRUTHS = ["flag", "true", "a > b", "name is null"]
LISTS = ["nums", "array(a, b)", "items.n"]


def expressions() -> dict[str, st.SearchStrategy[str]]:
    """Give expressions of each type, nested into each other."""
    whole: st.SearchStrategy[str] = st.deferred(lambda: made["whole"])
    texts: st.SearchStrategy[str] = st.deferred(lambda: made["text"])
    truth: st.SearchStrategy[str] = st.deferred(lambda: made["truth"])
    lists: st.SearchStrategy[str] = st.deferred(lambda: made["list"])
    variable = st.sampled_from(["x", "a", "who", "order"])

    def form(pattern: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.tuples(*parts).map(lambda given: pattern.format(*given))

    made = {
        "whole": st.sampled_from(WHOLE)
        | form("({} + {})", whole, whole)
        | form("({}\n-{})", whole, whole)
        | form("{} % 7 * 2", whole)
        | form("length({})", texts)
        | form("coalesce({}, {} /* a */, 0)", whole, whole)
        | form("case when {} then {} else {} end", truth, whole, whole)
        | form("case {} when 1 then {} end", whole, whole)
        | form("if({},{},{})", truth, whole, whole)
        | form("aggregate({}, 0L, (acc, {}) -> acc + {})", lists, variable, whole)
        | form("get({}, 0)", lists),
        "text": st.sampled_from(TEXTS)
        | form("upper({})", texts)
        | form("{} || ' a ' || {}", texts, texts)
        | form("string({})", whole)
        | form("substring({} from 1 for 2)", texts)
        | form("replace({}, 'a', {})", texts, texts),
        "truth": st.sampled_from(TRUTHS)
        | form("({} > {})", whole, whole)
        | form("{} between {} and {}", whole, whole, whole)
        | form("{} not in ({}, 1)", whole, whole)
        | form("({} <=> {})", texts, texts)
        | form("({} and not {})", truth, truth)
        | form("({} or {})", truth, truth)
        | form("{} like 'a%'", texts)
        | form("exists({}, {} -> {})", lists, variable, truth)
        | form("array_contains({}, {} -- b\n)", lists, whole),
        "list": st.sampled_from(LISTS)
        | form("transform({}, {} -> {})", lists, variable, whole)
        | form("transform({}, (a, i) -> i + {})", lists, whole)
        | form("filter({}, {} -> {})", lists, variable, truth),
    }
    return made


MANY = st.lists(st.one_of(*expressions().values()), min_size=40, max_size=60)


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    names = ", ".join(f"`{name}`" for name in COLUMNS.names)
    values = f"select * from values {ROWS} as t({names})"  # noqa: S608
    return spark.sql(values).cache()


@given(MANY)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
def test_an_expression_gives_the_same_inside_a_struct(
    rows: DataFrame, texts: list[str]
) -> None:
    read = []
    for text in texts:
        try:
            read.append(read_expression(text, COLUMNS, "here"))
        except StepError as error:
            # A variable of a lambda can hide a column of another type.
            assert error.slug == "types-differ", error  # noqa: PT017
    struct = rows.select("*", sql.struct(*rows.columns).alias("s"))

    one = rows.select(*(sql.expr(e.text).alias(f"_{i}") for i, e in enumerate(read)))
    other = struct.select(
        *(sql.expr(e.inside("s")).alias(f"_{i}") for i, e in enumerate(read))
    )

    assert one.collect() == other.collect()
    for expression, field in zip(read, one.schema, strict=True):
        assert agrees(expression.type, field.dataType), expression.text


AGREE: dict[type[FieldType], type[DataType]] = {
    Whole: IntegralType,
    Real: FractionalType,
    Text: StringType,
    Truth: BooleanType,
    Moment: TimestampType,
    Day: DateType,
    Exact: DecimalType,
}


def agrees(told: FieldType, found: DataType) -> bool:
    if isinstance(told, Unknown):
        return True
    expected = AGREE.get(type(told))
    if expected is None:
        return found.simpleString() == told.sql
    return isinstance(found, expected)


TYPED = """
a + b; a / b; a % b; a div b; -a; ~a; a & b; a | b; 1 + 1.5; ratio * a
amount; amount * 2; amount + a; amount / 3; round(amount); ceil(amount)
round(ratio, 1); floor(ratio); ceil(ratio); abs(ratio); greatest(a, b); pow(a, 2)
sqrt(a); sign(a); hash(a); crc32(name); rand(); pmod(a, 3); try_divide(a, 2)
name || 'x'; concat(name, a); upper(name); length(name); substring(name, 1, 1)
trim(both 'x' from name); split(name, ','); size(split(name, ',')); ascii(name)
instr(name, 'a'); locate('a', name); levenshtein(name, 'b'); position('a' in name)
cast(a as string); cast(a as int); try_cast(name as int); cast(a as double)
at + interval 1 day; at - interval '1' hour; day + 1; date_add(day, 1); day - day
datediff(day, day); extract(year from at); year(at); hour(at); to_date(at)
date_trunc('hour', at); date_format(at, 'yyyy'); to_timestamp(name); current_date()
unix_millis(at); timestampdiff(DAY, at, at); dateadd(DAY, 1, day); current_timestamp
months_between(at, at); last_day(day); trunc(day, 'MM'); unix_timestamp(at); now()
flag and true; a <=> b; name rlike 'a'; isnull(a); array_contains(nums, a)
exists(nums, x -> x > 1); forall(nums, x -> x > 1); contains(name, 'a'); not flag
nvl(flag, false); coalesce(a, ratio); coalesce(amount, a); if(flag, a, ratio)
case when flag then 1 else 1.5 end; nullif(a, 1); nvl2(a, name, 'x'); ifnull(a, 1)
who; who.city; who.zip; items; items.sku; items[0].n; nums[0]; element_at(nums, 1)
struct(a, b); array(a, b); map('x', a); map('x', a)['x']; named_struct('x', a).x
transform(nums, x -> x * 1.5); aggregate(nums, 0L, (s, x) -> s + x); sort_array(nums)
get_json_object(name, '$.a'); from_json(name, 'x int').x; to_json(who); uuid()
bin(a); hex(a); md5(name); sha2(name, 256); base64(name); unbase64(name)
1L; 1S; 1.5; 1.5D; 1.5BD; 1e3; 'x'; null; true; date'2026-01-01'; X'1F'
"""


def test_a_type_that_is_told_is_the_type_that_spark_finds(rows: DataFrame) -> None:
    texts = [part for line in TYPED.strip().splitlines() for part in line.split("; ")]
    told = {text: read_expression(text, COLUMNS, "here").type for text in texts}
    found = {text: rows.select(sql.expr(text)).schema[0].dataType for text in texts}

    wrong = {
        text: (told[text].sql, found[text].simpleString())
        for text in texts
        if not agrees(told[text], found[text])
    }
    assert not wrong
    assert sum(not isinstance(kind, Unknown) for kind in told.values()) > 80


SEVERAL = {"agg_funcs", "generator_funcs", "window_funcs"}

# Table functions by their nature, which no expression can call.
TABLES = {"collations", "sql_keywords"}


def functions(spark: SparkSession) -> dict[str, str]:
    """Give Spark's own functions, and the group that each belongs to."""
    catalog = spark._jsparkSession.sessionState().catalog()
    identifier = spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier  # type: ignore[union-attr]
    names = [row[0] for row in spark.sql("show system functions").collect()]
    return {
        name: catalog.lookupFunctionInfo(identifier(name)).getGroup()
        for name in names
        if name.isidentifier()
    }


def is_refused(name: str) -> bool:
    """Tell whether a function counts as one over several events."""
    for arguments in ("a", "", "a, a", "a, a, a"):
        try:
            read_expression(f"{name}({arguments})", COLUMNS, "here")
        except StepError as error:
            if error.slug == "expression-not-per-event":
                return True
    return False


def test_all_of_sparks_aggregates_are_known_and_nothing_else(
    spark: SparkSession,
) -> None:
    groups = functions(spark)
    several = {name for name, group in groups.items() if group in SEVERAL} - TABLES
    # Aggregates too, listed by Spark under what they work on.
    several |= {"schema_of_variant_agg", "window", "session_window"}

    assert len(several) > 90
    assert {name for name in groups if is_refused(name)} == several
