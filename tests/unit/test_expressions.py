"""Expressions: what is read, which columns it takes from where, what is refused."""

from __future__ import annotations

from decimal import Decimal

import pytest

from headrace import StepError
from headrace.schema.expressions import column, read_condition, read_expression
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

ITEM = Record((Field("sku", Text()), Field("n", Whole())))
COLUMNS = Record(
    (
        Field("a", Whole()),
        Field("b", Whole()),
        Field("name", Text()),
        Field("amount", Exact(12, 2)),
        Field("ratio", Real()),
        Field("flag", Truth()),
        Field("at", Moment()),
        Field("day", Day()),
        Field("who", Record((Field("city", Text()), Field("zip", Whole())))),
        Field("items", ListOf(ITEM)),
        Field("nums", ListOf(Whole())),
        Field("order", Whole()),
        Field("timestamp", Moment()),
        Field("case", Whole()),
        Field("userId", Whole()),
        Field("größe", Whole()),
    )
)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("a + b", "s.a + s.b"),
        ("a+a", "s.a+s.a"),
        ("`a` + b", "s.`a` + s.b"),
        ("( a )", "( s.a )"),
        ("a\n  + b", "s.a\n  + s.b"),
        ("a /* b */ + b -- a", "s.a /* b */ + s.b -- a"),
        ("-- a\na", "-- a\ns.a"),
        ("'a' || name", "'a' || s.name"),
        ("name = 'it''s a'", "s.name = 'it''s a'"),
        ('name = "b"', 's.name = "b"'),
        ("concat(name, ' a ', name)", "concat(s.name, ' a ', s.name)"),
        ("order > 1", "s.order > 1"),
        ("timestamp > '2026-01-01'", "s.timestamp > '2026-01-01'"),
        ("`case` = 1", "s.`case` = 1"),
        ("at > date '2026-01-01'", "s.at > date '2026-01-01'"),
        ("userId + `größe`", "s.userId + s.`größe`"),
        ("'ä€😀' = name and b > a", "'ä€😀' = s.name and s.b > s.a"),
        ("`größe` > a", "s.`größe` > s.a"),
        ("who.city", "s.who.city"),
        ("`who`.`city`", "s.`who`.`city`"),
        ("items[a].sku", "s.items[s.a].sku"),
        ("items.sku", "s.items.sku"),
        ("nums[0] + 1", "s.nums[0] + 1"),
        (
            "case when a > 1 then b else `case` end",
            "case when s.a > 1 then s.b else s.`case` end",
        ),
        ("a between b and order", "s.a between s.b and s.order"),
        ("a in (b, 1, order)", "s.a in (s.b, 1, s.order)"),
        ("cast(a as string)", "cast(s.a as string)"),
        ("extract(year from at)", "extract(year from s.at)"),
        ("at + interval 1 day", "s.at + interval 1 day"),
        ("struct(a, b as c)", "struct(s.a, s.b as c)"),
        ("transform(nums, x -> x + a)", "transform(s.nums, x -> x + s.a)"),
        ("transform(nums, a -> a + b)", "transform(s.nums, a -> a + s.b)"),
        ("filter(items, i -> i.n > a)", "filter(s.items, i -> i.n > s.a)"),
        (
            "aggregate(nums, 0L, (acc, x) -> acc + x * a)",
            "aggregate(s.nums, 0L, (acc, x) -> acc + x * s.a)",
        ),
        (
            "transform(nums, x -> transform(nums, y -> x * y + b))",
            "transform(s.nums, x -> transform(s.nums, y -> x * y + s.b))",
        ),
        ("1", "1"),
    ],
)
def test_an_expression_can_be_moved_into_a_struct(text: str, inside: str) -> None:
    assert read_expression(text, COLUMNS, "here").inside("s") == inside


@pytest.mark.parametrize("name", ["a", "case", "order", "größe", "null"])
def test_a_column_by_itself_is_read_whatever_its_name(name: str) -> None:
    assert column(name, Whole()).inside("s") == f"s.`{name}`"


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("a + b", Whole()),
        ("length(name)", Whole()),
        ("a / b", Real()),
        ("ratio * 2", Real()),
        ("name || 'x'", Text()),
        ("a > 1 and flag", Truth()),
        ("at + interval 1 hour", Moment()),
        ("date_add(day, 1)", Day()),
        ("amount", Exact(12, 2)),
        ("(amount)", Exact(12, 2)),
        ("amount * 2", Unknown()),
        ("who.zip", Whole()),
        ("who", COLUMNS["who"].type),
        ("items", ListOf(ITEM)),
        ("items.sku", Unknown()),
        ("no_function_of_ours(a)", Unknown()),
    ],
)
def test_the_type_is_told_as_far_as_it_can_be(text: str, type_: FieldType) -> None:
    assert read_expression(text, COLUMNS, "here").type == type_


@pytest.mark.parametrize(
    "text",
    [
        "flag",
        "not flag",
        "a <=> b",
        "name rlike '^a'",
        "array_contains(nums, a)",
        "exists(nums, x -> x > a)",
        "coalesce(flag, false)",
        "if(a > 1, flag, false)",
        "case when flag then a > 1 else false end",
        "name is not null",
        "day > '2026-01-01'",
        "isnotnull(name)",
    ],
)
def test_a_condition_is_true_or_false(text: str) -> None:
    assert read_condition(text, COLUMNS, "here").text == text


@pytest.mark.parametrize("text", ["a", "name", "a + 1", "upper(name)", "at"])
def test_a_value_is_no_condition(text: str) -> None:
    with pytest.raises(StepError) as caught:
        read_condition(text, COLUMNS, "here")

    assert caught.value.slug == "condition-not-boolean"
    assert caught.value.where == "here"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "-- nothing",
        "a +",
        "a b c",
        "a, b",
        "a,",
        "a; drop table x",
        "a) or (b",
        "a) from (b",
        "a) + (b",
        "a)",
        "(a",
        "a as c",
        "a c",
        "*",
        "?",
        "a = :b",
        "a = @b",
        "case > 1",
        "größe > 1",
        "'open",
        "a /* open",
        "map(a)",
        "date_trunc()",
    ],
)
def test_what_is_not_one_expression_is_refused(text: str) -> None:
    with pytest.raises(StepError) as caught:
        read_expression(text, COLUMNS, "here")

    assert caught.value.slug == "expression-unreadable"
    assert "sqlglot" not in str(caught.value)


@pytest.mark.parametrize("text", [1, None, True, Decimal(1)])
def test_what_is_not_a_text_is_refused(text: object) -> None:
    with pytest.raises(StepError, match="expression-unreadable"):
        read_expression(text, COLUMNS, "here")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "name", "hint"),
    [
        ("nope > 1", "nope", 'did you mean "name"?'),
        ("amonut > 1", "amonut", 'did you mean "amount"?'),
        ("A > 1", "A", "name one of these."),
        ("who.town = 'x'", "who.town", "name one of these."),
        ("who.citty = 'x'", "who.citty", 'did you mean "city"?'),
        ("transform(nums, x -> x + y)", "y", 'did you mean "day"?'),
        ("transform(nums, x -> x) [0] + x", "x", "name one of these."),
        ("_origin.topic = 'x'", "_origin", None),
        ("_dead is null", "_dead", None),
        ("stream.a > 1", "stream", None),
    ],
)
def test_an_unknown_column_is_refused_by_name(
    text: str, name: str, hint: str | None
) -> None:
    with pytest.raises(StepError) as caught:
        read_expression(text, COLUMNS, "here")

    assert caught.value.slug == "column-unknown"
    assert caught.value.fact == f'there is no column "{name}", used in `{text}`'
    assert hint in (None, caught.value.hint)


@pytest.mark.parametrize(
    "text",
    [
        "count(*)",
        "sum(a) > 1",
        "1 + max(a)",
        "some(flag)",
        "any(flag)",
        "mean(a)",
        "try_sum(a)",
        "hll_sketch_agg(a)",
        "row_number() over (order by a)",
        "lag(a) over (order by at)",
        "rank()",
        "a in (select 1)",
        "(select 1)",
        "exists(select 1)",
        "window(at, '5 minutes')",
        "explode(nums)",
        "posexplode(nums)",
        "inline(items)",
        "inline_outer(items)",
        "stack(2, a, b)",
    ],
)
def test_what_is_not_computed_event_by_event_is_refused(text: str) -> None:
    with pytest.raises(StepError) as caught:
        read_expression(text, COLUMNS, "here")

    assert caught.value.slug == "expression-not-per-event"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("name > 1", "`name > 1` compares a text with a number"),
        ("1 = name", "`1 = name` compares a text with a number"),
        ("flag = 1", "`flag = 1` compares a truth with a number"),
        ("a > 1 and name + 1 > 2", "`name + 1` computes with a text"),
        ("who.city * 2", "`who.city * 2` computes with a text"),
    ],
)
def test_types_that_do_not_go_together_are_refused(text: str, part: str) -> None:
    with pytest.raises(StepError) as caught:
        read_expression(text, COLUMNS, "here")

    assert caught.value.slug == "types-differ"
    assert caught.value.fact == part


@pytest.mark.parametrize(
    "text",
    [
        "length(name) + 1",
        "instr(name, 'x') - 1",
        "year(at) + 1",
        "day + 1",
        "at - interval '1' hour",
        "cast(name as int) + 1",
        "name = string(a)",
        "at > '2026-01-01'",
        "hash(name) % 3",
        "ceil()",
    ],
)
def test_what_goes_together_or_is_unknown_is_left_to_spark(text: str) -> None:
    assert read_expression(text, COLUMNS, "here").text == text
