"""Spark's aggregate functions, run event by event, beside Spark's own ``groupBy``."""

from __future__ import annotations

import math
import random
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException, ArithmeticException, PySparkException
from pyspark.errors import IllegalArgumentException as IllegalArgument
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from headrace._spark.bridge import java_class

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Row, SparkSession

LARGEST = 2**63 - 1
SCHEMA = (
    "k string, l bigint, i int not null, d double, wide decimal(38,18), "
    "price decimal(10,2), s string, t timestamp, day date, b boolean, raw binary, "
    "place struct<x: int, y: string>, tags array<string>, v array<float>"
)
TEXTS = (
    "count(*)",
    "count(l)",
    "count(l, s)",
    "count_if(l > 3)",
    "sum(l)",
    "sum(i)",
    "sum(d)",
    "sum(wide)",
    "sum(price)",
    "try_sum(l)",
    "avg(l)",
    "avg(d)",
    "avg(wide)",
    "avg(price)",
    "try_avg(l)",
    "stddev(d)",
    "stddev_pop(l)",
    "variance(d)",
    "var_pop(d)",
    "skewness(d)",
    "kurtosis(d)",
    "corr(d, l)",
    "covar_samp(d, l)",
    "regr_slope(d, l)",
    "min(l)",
    "max(s)",
    "min(t)",
    "max(t)",
    "max(day)",
    "min(wide)",
    "max(raw)",
    "max(b)",
    "max(place)",
    "min(tags)",
    "min_by(s, struct(t, i))",
    "max_by(s, struct(t, i))",
    "max_by(place, struct(t, i))",
    "max_by(tags, i)",
    "max_by(s, i, 3)",
    "min_by(place, struct(t, i), 2)",
    "any_value(k)",
    "first_value(k)",
    "bool_and(b)",
    "bool_or(b)",
    "every(l is not null)",
    "bit_or(l)",
    "bit_and(l)",
    "bit_xor(l)",
    "sort_array(collect_list(s))",
    "sort_array(collect_list(place))",
    "sort_array(array_agg(wide))",
    "sort_array(collect_set(s))",
    "size(collect_set(l))",
    "array_sort(collect_list(struct(t, i, s))).s",
    "approx_count_distinct(s)",
    "approx_count_distinct(l, 0.01)",
    "percentile_approx(l, 0.5)",
    "percentile_approx(d, array(0.1, 0.5, 0.9), 100)",
    "percentile(l, 0.25)",
    "percentile_cont(0.5) within group (order by d)",
    "percentile_disc(0.5) within group (order by d)",
    "median(l)",
    "mode(b)",
    "histogram_numeric(i, 100)",
    "sort_array(approx_top_k(b))",
    "hll_sketch_estimate(hll_sketch_agg(l))",
    "theta_sketch_estimate(theta_sketch_agg(l))",
    "hex(count_min_sketch(s, 0.1d, 0.9d, 1))",
    "bitmap_count(bitmap_construct_agg(i))",
    "listagg(s, '|') within group (order by s)",
    "string_agg(s) within group (order by s desc)",
    "vector_sum(v)",
    "schema_of_variant_agg(to_variant_object(place))",
    "count(*) filter (where l > 3)",
    "sum(l) filter (where s = 'ü')",
    "sort_array(collect_list(l) filter (where b))",
    "size(collect_set(s) filter (where l is null))",
    "max(s) filter (where false)",
    "sum(price) / count(*)",
    "max(l) - min(l) between 1 and 5",
    "sum(nullif(l * 2, 4))",
    "coalesce(nullif(sum(l) + 1, 9), -1)",
    "concat_ws(',', sort_array(collect_set(upper(s))))",
    "named_struct('n', count(*), 'most', max(l))",
    "sum(aggregate(tags, 0, (a, x) -> a + length(x)))",
    "1",
)


def rows() -> list[tuple[Any, ...]]:
    """Events with every kind of value, each of them null now and then."""
    chance = random.Random(7)  # noqa: S311
    start = datetime(2026, 3, 29, 1, tzinfo=UTC)

    def maybe(value: Any) -> Any:
        return value if chance.random() < 0.8 else None

    return [
        (
            chance.choice(["a", "a", "b", "é", None]),
            maybe(chance.randint(-3, 9)),
            number,
            # Sums of quarters are the same in any order.
            maybe(chance.randint(-400, 400) / 4),
            maybe(Decimal(chance.randint(-(10**30), 10**30)).scaleb(-18)),
            maybe(Decimal(chance.randint(-99999, 99999)).scaleb(-2)),
            maybe(chance.choice(["ü", "日本", "", "a'b", "x" * 40])),
            maybe(start + timedelta(microseconds=chance.randint(0, 10**9))),
            maybe(date(2026, 3, 1) + timedelta(days=chance.randint(0, 60))),
            maybe(chance.random() < 0.5),
            maybe(chance.randbytes(chance.randint(0, 12))),
            maybe((maybe(chance.randint(0, 3)), maybe(chance.choice("pqü")))),
            maybe([chance.choice(["r", "ß"]) for _ in range(chance.randint(0, 3))]),
            maybe([float(chance.randint(0, 8)), 0.5]),
        )
        for number in range(120)
    ]


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(rows(), SCHEMA).repartition(3, "i")


def numbered(texts: Sequence[str]) -> dict[str, str]:
    return {f"a{number}": text for number, text in enumerate(texts)}


def aggregated(
    df: DataFrame, by: str, aggregates: Mapping[str, str], parts: int = 1
) -> DataFrame:
    spark = df.sparkSession
    java = spark._jvm.io.headrace.windows.BatchAggregate.over(  # type: ignore[union-attr]
        df._jdf, by, list(aggregates), list(aggregates.values()), parts
    )
    return DataFrame(java, spark)


def grouped(df: DataFrame, by: str, aggregates: Mapping[str, str]) -> DataFrame:
    columns = [sql.expr(text).alias(name) for name, text in aggregates.items()]
    return df.groupBy(by).agg(*columns)


def same(one: Any, other: Any) -> bool:
    """Compare, allowing for floating point sums in another order."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or math.isclose(one, other, rel_tol=1e-9)
    if isinstance(one, (tuple, list)) and type(one) is type(other):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


@pytest.fixture(scope="module")
def wanted(events: DataFrame) -> Mapping[str | None, Row]:
    return {row[0]: row for row in grouped(events, "k", numbered(TEXTS)).collect()}


@pytest.mark.parametrize("parts", [1, 3, 60])
def test_every_function_gives_what_group_by_gives(
    events: DataFrame, wanted: Mapping[str | None, Row], parts: int
) -> None:
    given = aggregated(events, "k", numbered(TEXTS), parts)

    assert given.dtypes == grouped(events, "k", numbered(TEXTS)).dtypes
    found = {row[0]: row for row in given.collect()}
    assert set(found) == set(wanted) == {"a", "b", "é", None}
    different = {
        (key, text, found[key][name], row[name])
        for key, row in wanted.items()
        for name, text in numbered(TEXTS).items()
        if not same(found[key][name], row[name])
    }
    assert not different


def test_a_result_can_be_an_expression_of_other_results(events: DataFrame) -> None:
    aggregates = {"n": "count(*)", "most": "max(l)", "wanted": "n > 20 and most > 0"}

    found = aggregated(events, "k", aggregates, 2)

    assert sorted(found.collect(), key=repr) == sorted(
        grouped(events, "k", aggregates).collect(), key=repr
    )


def test_names_and_columns_can_hold_dots_and_quotes(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1), ("a", 2)], "`user.name` string, `a``b` int")

    found = aggregated(df, "user.name", {"sum.of`it": "sum(`a``b`)"})

    assert found.columns == ["user.name", "sum.of`it"]
    assert found.collect() == [("a", 3)]


class Trial:
    """An aggregation in this process, whose steps are called one by one."""

    def __init__(self, df: DataFrame, texts: Sequence[str]) -> None:
        jvm: Any = df.sparkSession._jvm
        aggregation = jvm.io.headrace.windows.Aggregation.of(
            df.sparkSession._jsparkSession,
            df._jdf.schema(),
            list(numbered(texts)),
            list(texts),
        )
        self.rows = list(df._jdf.queryExecution().executedPlan().executeCollect())
        self.one, self.other = aggregation.evaluator(), aggregation.evaluator()


EXACT = (
    "count(*)",
    "sum(l)",
    "sum(wide)",
    "max(s)",
    "max_by(s, struct(t, i))",
    "max_by(s, i, 3)",
    "bit_or(l)",
    "sort_array(collect_list(s))",
    "sort_array(collect_set(place))",
    "approx_count_distinct(s)",
    "percentile_approx(l, array(0.1, 0.5))",
    "median(d)",
    "sort_array(approx_top_k(b))",
    "theta_sketch_estimate(theta_sketch_agg(l))",
    "hll_sketch_estimate(hll_sketch_agg(l))",
    "bitmap_count(bitmap_construct_agg(i)) + 0",
    "vector_sum(v)",
    "listagg(s, '|') within group (order by s) filter (where l > 0)",
)
STEPS = ("update", "store", "result", "split", "merge")


@pytest.fixture(scope="module")
def trial(events: DataFrame) -> Trial:
    return Trial(events.coalesce(1), EXACT)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(STEPS) | st.just("update"), max_size=40))
def test_storing_merging_and_asking_between_events_change_no_result(
    trial: Trial, steps: list[str]
) -> None:
    one, other = trial.one, trial.other
    plain = one.fresh()
    buffers = [one.fresh()]
    waiting = iter(trial.rows)
    for step in steps:
        if step == "update":
            event = next(waiting)
            one.update(plain, event)
            one.update(buffers[-1], event)
        elif step == "store":
            one, other = other, one
            buffers = [one.load(other.store(buffer)) for buffer in buffers]
        elif step == "result":
            assert one.result(buffers[-1]) == one.result(buffers[-1])
        elif step == "split":
            buffers.append(one.fresh())
        elif len(buffers) > 1:
            last = buffers.pop()
            one.merge(buffers[-1], last)
    while len(buffers) > 1:
        last = buffers.pop()
        one.merge(buffers[-1], last)

    assert one.result(buffers[0]) == one.result(plain)


def test_a_stored_buffer_can_be_used_on(
    trial: Trial,
) -> None:
    one = trial.one
    kept, plain = one.fresh(), one.fresh()
    for event in trial.rows[:10]:
        one.update(kept, event)
        one.update(plain, event)
        assert one.store(kept) == one.store(kept)

    assert one.result(kept) == one.result(plain)


def test_the_aggregates_of_no_events_are_those_of_an_empty_table(
    events: DataFrame,
) -> None:
    texts = ["count(*)", "sum(l)", "collect_list(s)", "max_by(s, i, 2)", "avg(wide)"]
    evaluator = Trial(events, texts).one
    empty = events.where("l > 1000").agg(*map(sql.expr, texts))
    row = empty._jdf.queryExecution().executedPlan().executeCollect()[0]

    assert evaluator.result(evaluator.fresh()) == bytes(row.getBytes())


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("sum(l)", "ARITHMETIC_OVERFLOW"),
        ("sum(wide)", "ARITHMETIC_OVERFLOW"),
        ("max(cast(s as int))", "CAST_INVALID_INPUT"),
        ("count(*) / sum(0)", "DIVIDE_BY_ZERO"),
    ],
)
def test_what_fails_in_spark_fails_for_the_same_reason(
    spark: SparkSession, text: str, condition: str
) -> None:
    widest = Decimal("9" * 20)
    df = spark.createDataFrame(
        [("a", LARGEST, widest, "no"), ("a", 1, widest, "number")],
        "k string, l bigint, wide decimal(38,18), s string",
    )

    with pytest.raises(PySparkException) as ours:
        aggregated(df, "k", {"x": text}).collect()
    with pytest.raises(PySparkException) as theirs:
        grouped(df, "k", {"x": text}).collect()
    assert condition in str(ours.value)
    assert condition in str(theirs.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("count(distinct l)", "is DISTINCT"),
        ("sum(l) + rand()", "another value each time"),
        ("max(uuid())", "NONDETERMINISTIC"),
        ("max(current_timestamp())", "when and where"),
        ("count(*) filter (where t < now())", "when and where"),
        ("kll_sketch_agg_bigint(l)", "another value each time"),
        ("sum(l) + (select 1)", "a query inside"),
        ("explode(collect_list(l))", "event by event"),
        ("sum(sum(l)) over ()", "event by event"),
        ("l + 1", "MISSING_AGGREGATION|MISSING_GROUP_BY"),
        ("sum(nowhere)", "UNRESOLVED_COLUMN"),
    ],
)
def test_an_aggregate_that_cannot_be_repeated_event_by_event_is_refused(
    events: DataFrame, text: str, reason: str
) -> None:
    with pytest.raises((IllegalArgument, AnalysisException), match=reason):
        aggregated(events, "k", {"x": text})


def test_an_aggregate_of_a_python_function_is_refused(spark: SparkSession) -> None:
    other = spark.newSession()
    other.udf.register("doubled", lambda number: 2 * number, "bigint")
    rows = other.createDataFrame([("a", 1)], "k string, l bigint")

    with pytest.raises(IllegalArgument, match="event by event"):
        aggregated(rows, "k", {"x": "sum(doubled(l))"})


def test_the_sessions_ansi_mode_holds_in_the_tasks(spark: SparkSession) -> None:
    lenient = spark.newSession()
    lenient.conf.set("spark.sql.ansi.enabled", "false")
    df = lenient.createDataFrame([("a", LARGEST), ("a", 1)], "k string, l bigint")

    assert aggregated(df, "k", {"x": "sum(l)"}).collect() == [("a", -LARGEST - 1)]


def test_a_failure_of_an_event_is_sparks_own(spark: SparkSession) -> None:
    df = spark.createDataFrame([(LARGEST,), (1,)], "l bigint").coalesce(1)
    trial = Trial(df, ["sum(l)"])
    evaluator = trial.one
    buffer = evaluator.fresh()
    evaluator.update(buffer, trial.rows[0])

    with pytest.raises(ArithmeticException, match="OVERFLOW"):
        evaluator.update(buffer, trial.rows[1])


def test_an_aggregation_is_read_once_in_each_process(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    utilities = jvm.org.apache.commons.lang3.SerializationUtils
    schema = spark.createDataFrame([], "l bigint")._jdf.schema()
    names, texts = jvm.java.util.List.of("n"), jvm.java.util.List.of("sum(l) + 1")
    made = java_class(spark, "windows.Aggregation").of(
        spark._jsparkSession, schema, names, texts
    )

    sent = bytes(utilities.serialize(made))
    (name,) = set(re.findall(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", sent))
    here = utilities.deserialize(sent)
    elsewhere = utilities.deserialize(sent.replace(name, b"00000000" + name[8:]))

    assert here.equals(made)
    assert not elsewhere.equals(made)
    assert elsewhere.toString() == made.toString()
    assert elsewhere.evaluator().result(elsewhere.evaluator().fresh())


def test_tasks_side_by_side_share_no_variable(spark: SparkSession) -> None:
    """The variable of a lambda is a field of Spark's expression, with one value."""
    numbers = spark.range(0, 400_000, numPartitions=2).selectExpr("id", "id % 40 as k")
    each = "transform(collect_list(id), x -> x)"
    values = {"v": f"aggregate({each}, 0L, (s, x) -> s + x)"}

    found = aggregated(numbers, "k", values).collect()

    assert sorted(found) == sorted(grouped(numbers, "k", {"v": "sum(id)"}).collect())
