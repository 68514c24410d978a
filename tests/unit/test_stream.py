"""Streams: what each verb makes of columns, key and time, and what it refuses."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import pytest

from headrace import Pipeline, Stream, digits, event, kafka
from headrace.plan.steps import Select, Union
from headrace.schema.types import Exact, Unknown, Whole
from support.harness.refusals import refused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@event(key="card", time="made_at")
class Payment:
    card: str
    cents: int
    made_at: datetime
    amount: Annotated[Decimal, digits(12, 2)]
    note: str | None = None


@event(key="card", time="made_at")
class Refund:
    made_at: datetime
    card: str
    cents: int
    note: str | None


@event(key="cents")
class Total:
    cents: int


PIPELINE = Pipeline("sales")


@pytest.fixture
def payments() -> Stream:
    return PIPELINE.read(kafka("payments", Payment))


@pytest.fixture
def refunds() -> Stream:
    return PIPELINE.read(kafka("refunds", Refund))


def roles(stream: Stream) -> tuple[str | None, str | None]:
    return stream.step.key, stream.step.time


def required(stream: Stream) -> list[str]:
    return [field.name for field in stream.step.columns if field.required]


def test_a_source_has_the_columns_key_and_time_of_its_event(payments: Stream) -> None:
    assert payments.columns == ["card", "cents", "made_at", "amount", "note"]
    assert roles(payments) == ("card", "made_at")
    assert required(payments) == ["card", "cents", "made_at", "amount"]


def test_a_verb_changes_nothing_and_gives_a_new_stream(payments: Stream) -> None:
    before = payments.step

    assert payments.where("cents > 1") is not payments
    assert payments.derive(more="cents + 1").columns[-1] == "more"
    assert payments.step is before
    assert payments.columns == ["card", "cents", "made_at", "amount", "note"]


def test_where_keeps_columns_key_and_time(payments: Stream) -> None:
    large = payments.where("cents > 100")

    assert large.step.columns is payments.step.columns
    assert roles(large) == ("card", "made_at")


def test_select_gives_what_is_named_in_that_order(payments: Stream) -> None:
    chosen = payments.select("note", "card", double="cents * 2")

    assert chosen.columns == ["note", "card", "double"]
    assert required(chosen) == ["card"]
    assert chosen.step.columns["double"].type == Whole()


def test_key_and_time_go_with_their_columns(payments: Stream) -> None:
    assert roles(payments.select("card", "cents")) == ("card", None)
    assert roles(payments.select("made_at")) == (None, "made_at")
    assert roles(payments.select("cents")) == (None, None)


def test_key_and_time_follow_a_rename(payments: Stream) -> None:
    renamed = payments.rename(card="payer", made_at="at")

    assert renamed.columns == ["payer", "cents", "at", "amount", "note"]
    assert roles(renamed) == ("payer", "at")
    assert roles(renamed.rename(payer="card")) == ("card", "at")


def test_a_column_selected_under_a_new_name_is_renamed(payments: Stream) -> None:
    chosen = payments.select(payer="card", spent="amount", why="note")

    assert roles(chosen) == ("payer", None)
    assert chosen.step.columns["spent"].type == Exact(12, 2)
    assert required(chosen) == ["payer", "spent"]


def test_a_copy_of_the_key_leaves_the_key_where_it_is(payments: Stream) -> None:
    assert roles(payments.derive(payer="card")) == ("card", "made_at")


def test_columns_can_trade_names(payments: Stream) -> None:
    traded = payments.rename(card="note", note="card")

    assert traded.columns == ["note", "cents", "made_at", "amount", "card"]
    assert traded.step.key == "note"


def test_a_derived_column_that_replaces_the_key_is_no_key(payments: Stream) -> None:
    assert roles(payments.derive(card="upper(card)")) == (None, "made_at")
    assert roles(payments.derive(made_at="made_at + interval 1 day")) == ("card", None)


def test_a_derived_column_comes_last_and_may_be_null(payments: Stream) -> None:
    derived = payments.derive(cents="cents * 100", fee="amount / 100")

    assert derived.columns == ["card", "made_at", "amount", "note", "cents", "fee"]
    assert required(derived) == ["card", "made_at", "amount"]
    assert derived.step.columns["fee"].type == Unknown()


def test_a_derived_column_sees_the_columns_before_it_only(payments: Stream) -> None:
    with refused("column-unknown"):
        payments.derive(double="cents * 2", four="double * 2")


def test_a_union_has_the_columns_of_the_first(
    payments: Stream, refunds: Stream
) -> None:
    both = payments.select("card", "cents", "made_at", "note").union(refunds)

    assert both.columns == ["card", "cents", "made_at", "note"]
    assert roles(both) == ("card", "made_at")


def test_a_union_requires_what_all_of_its_streams_require(payments: Stream) -> None:
    sure = payments.select("card", "cents")
    unsure = payments.select("card", cents="cents + 1")

    assert required(sure.union(sure, unsure)) == ["card"]
    assert required(unsure.union(sure)) == ["card"]


def test_a_union_is_keyed_only_if_all_its_streams_are(payments: Stream) -> None:
    keyed = payments.select("card")
    other = payments.select(card="upper(card)")

    assert keyed.union(keyed).step.key == "card"
    assert keyed.union(other).step.key is None


def test_a_union_takes_several_streams(payments: Stream) -> None:
    step = payments.union(payments, payments).step

    assert isinstance(step, Union)
    assert step.inputs == (payments.step,) * 3


@pytest.mark.parametrize(
    ("other", "detail"),
    [
        ({"card": "card"}, '"cents" is bigint in one and absent in the other'),
        (
            {"card": "card", "cents": "string(cents)"},
            '"cents" is bigint in one and string in the other',
        ),
        (
            {"card": "card", "cents": "cents", "fee": "amount / 2"},
            '"fee" is absent in one and void in the other',
        ),
    ],
)
def test_streams_with_other_columns_make_no_union(
    payments: Stream, other: dict[str, str], detail: str
) -> None:
    with refused("union-columns-differ") as caught:
        payments.select("card", "cents").union(payments.select(**other))

    assert (caught.value.detail or "").startswith(detail)
    assert "test_stream.py:" in (caught.value.detail or "")


def test_a_type_that_only_spark_knows_is_left_to_it(payments: Stream) -> None:
    one = payments.select("card", fee="amount / 2")

    assert one.union(payments.select("card", fee="cents")).columns == ["card", "fee"]


def test_transform_keeps_columns_key_and_time(payments: Stream) -> None:
    def same(df: DataFrame) -> DataFrame:
        raise AssertionError("called while declared")

    changed = payments.transform(same)

    assert changed.step.columns is payments.step.columns
    assert roles(changed) == ("card", "made_at")


def test_transform_gives_what_it_says(payments: Stream) -> None:
    changed = payments.transform(lambda df: df, gives=Total)

    assert changed.columns == ["cents"]
    assert roles(changed) == ("cents", None)


def test_transform_gives_an_event(payments: Stream) -> None:
    with refused("not-an-event"):
        payments.transform(lambda df: df, gives=dict)


def test_a_step_shows_what_it_computes(payments: Stream) -> None:
    step = payments.select("card", payer="card", double="cents * 2").step

    assert isinstance(step, Select)
    assert step.summary == "card, payer = card, double = cents * 2"


@pytest.mark.parametrize("verb", ["where", "select", "derive", "rename"])
def test_an_unknown_column_is_refused_by_every_verb(
    payments: Stream, verb: str
) -> None:
    with refused("column-unknown") as caught:
        {
            "where": lambda: payments.where("cemts > 1"),
            "select": lambda: payments.select("cemts"),
            "derive": lambda: payments.derive(x="cemts"),
            "rename": lambda: payments.rename(cemts="x"),
        }[verb]()

    assert caught.value.hint == 'did you mean "cents"?'


def test_a_chain_of_verbs_names_the_line_of_each(payments: Stream) -> None:
    with refused("column-unknown"):
        (
            payments.where("cents > 1")
            .derive(double="cents * 2")
            .where("duoble > 1")
            .select("card")
        )


def test_nothing_selected_is_refused(payments: Stream) -> None:
    with refused("nothing-selected"):
        payments.select()


@pytest.mark.parametrize("name", ["_dead", "_origin", "_x", "_"])
def test_a_name_with_an_underscore_is_refused_by_every_verb(
    payments: Stream, name: str
) -> None:
    with refused("column-name-reserved"):
        payments.derive(**{name: "cents"})
    with refused("column-name-reserved"):
        payments.select("card", **{name: "cents + 1"})
    with refused("column-name-reserved"):
        payments.rename(cents=name)


@pytest.mark.parametrize("name", ["a b", "a.b", "a`b", "1a", "", "a-b"])
def test_a_name_that_no_column_can_have_is_refused(payments: Stream, name: str) -> None:
    with refused("name-refused"):
        payments.rename(cents=name)


def test_two_columns_of_one_name_are_refused(payments: Stream) -> None:
    with refused("column-taken"):
        payments.rename(cents="card")
    with refused("column-taken"):
        payments.select("card", "card")
    with refused("column-taken"):
        payments.select("card", card="upper(card)")
    with refused("column-taken") as caught:
        payments.derive(Card="upper(card)")

    assert caught.value.detail == 'Spark takes "Card" for the same.'
