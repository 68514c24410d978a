"""Pipelines through the real plan say the same as plain Python over the same events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as sql

from headrace import Pipeline, Stream, digits, event, kafka, sinks
from headrace.testing import Rig

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession


@event(key="card", time="made_at")
class Payment:
    card: str
    cents: int
    amount: Annotated[Decimal, digits(30, 10)]
    ratio: float
    made_at: datetime
    tags: list[str]
    note: str | None = None


@event(key="card")
class Total:
    card: str
    total: int


AMOUNTS = st.decimals(min_value=-(10**12), max_value=10**12, places=10)
PAYMENTS = st.builds(
    Payment,
    card=st.sampled_from(["c1", "c2", "ä", ""]),
    cents=st.integers(-200, 200),
    amount=AMOUNTS,
    ratio=st.floats(allow_nan=False, allow_infinity=False),
    made_at=st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)),
    tags=st.lists(st.text(st.characters(codec="utf-8"), max_size=3), max_size=3),
    note=st.sampled_from([None, "x", "y"]),
)
UNREADABLE = st.sampled_from([b"", b"{", b"null", b"[]", b'{"card": 1}', b"\xff"])
INPUTS = st.lists(PAYMENTS | UNREADABLE, min_size=60, max_size=120)

few = settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))


def sale(number: int, **changes: Any) -> Payment:
    values: dict[str, Any] = {
        "card": f"c{number % 3}",
        "cents": number,
        "amount": Decimal(number),
        "ratio": 0.5,
        "made_at": datetime(2026, 1, 1),
        "tags": [],
    }
    return Payment(**values | changes)


@dataclass
class Ran:
    """What came of a pipeline."""

    rig: Rig

    def rows(self, output: str) -> list[tuple[Any, ...]]:
        return self.rig.rows(output)

    @property
    def dead(self) -> list[bytes | None]:
        return [letter.value for letter in self.rig.dead_letters()]


def living(inputs: Sequence[Payment | bytes]) -> list[Payment]:
    return [given for given in inputs if isinstance(given, Payment)]


def unreadable(inputs: Sequence[Payment | bytes]) -> list[bytes]:
    return [given for given in inputs if isinstance(given, bytes)]


def doubled(df: DataFrame) -> DataFrame:
    return df.select("card", (df.cents * 2).alias("total"))


Verb = tuple[
    "Callable[[Stream], Stream]", "Callable[[list[Payment]], list[tuple[Any, ...]]]"
]
VERBS: dict[str, Verb] = {
    "where": (
        lambda s: s.where("cents > 100 and note = 'x'").select("card", "cents"),
        lambda ps: [(p.card, p.cents) for p in ps if p.cents > 100 and p.note == "x"],
    ),
    "where-not": (
        lambda s: s.where("not (note = 'x')").select("card", "note"),
        lambda ps: [(p.card, p.note) for p in ps if p.note not in (None, "x")],
    ),
    "select": (
        lambda s: s.select("note", "card", twice="cents * 2", size="size(tags)"),
        lambda ps: [(p.note, p.card, p.cents * 2, len(p.tags)) for p in ps],
    ),
    "derive": (
        lambda s: s.select("card", "cents").derive(cents="-cents", big="cents > 0"),
        lambda ps: [(p.card, -p.cents, p.cents > 0) for p in ps],
    ),
    "rename": (
        lambda s: s.select("card", "note").rename(card="note", note="card"),
        lambda ps: [(p.card, p.note) for p in ps],
    ),
    "union": (
        lambda s: (
            s.where("cents > 0")
            .select("card", "cents")
            .union(s.where("cents < 0").select("card", cents="abs(cents)"))
        ),
        lambda ps: [(p.card, abs(p.cents)) for p in ps if p.cents],
    ),
    "transform": (
        lambda s: s.transform(doubled, gives=Total),
        lambda ps: [(p.card, p.cents * 2) for p in ps],
    ),
    "chain": (
        lambda s: (
            s.where("cents > -100")
            .derive(size="cents * cents")
            .where("size > 25")
            .select("card", root="sqrt(size)")
            .where("root < 150")
        ),
        lambda ps: [
            (p.card, float(abs(p.cents)))
            for p in ps
            if 5 < abs(p.cents) < 150 and p.cents > -100
        ],
    ),
}


def pipeline(*verbs: str) -> Pipeline:
    sales = Pipeline("sales")
    payments = sales.read(kafka("payments", Payment))
    for verb in verbs:
        sales.write(verb, VERBS[verb][0](payments), sinks.kafka(verb))
    return sales


@given(INPUTS)
@few
def test_every_verb_agrees_with_plain_python(
    spark: SparkSession, inputs: list[Payment | bytes]
) -> None:
    with Rig(pipeline(*VERBS), spark) as rig:
        rig.feed("payments", *inputs)
        ran = Ran(rig)

        for verb, (_, model) in VERBS.items():
            expected = model(living(inputs))
            assert sorted(ran.rows(verb), key=repr) == sorted(expected, key=repr)
        assert sorted(map(repr, ran.dead)) == sorted(map(repr, unreadable(inputs)))


@given(INPUTS)
@settings(few, max_examples=1)
@pytest.mark.parametrize("verb", VERBS)
def test_an_output_alone_is_the_same_as_among_others(
    spark: SparkSession, verb: str, inputs: list[Payment | bytes]
) -> None:
    with Rig(pipeline(verb), spark) as rig:
        rig.feed("payments", *inputs)

        assert sorted(rig.rows(verb), key=repr) == sorted(
            VERBS[verb][1](living(inputs)), key=repr
        )
        assert sorted(Ran(rig).dead, key=repr) == sorted(unreadable(inputs), key=repr)


@given(st.lists(PAYMENTS, min_size=20, max_size=40))
@few
def test_values_come_out_as_they_went_in(
    spark: SparkSession, inputs: list[Payment]
) -> None:
    sales = Pipeline("sales")
    sales.write("all", sales.read(kafka("payments", Payment)), sinks.kafka("all"))

    with Rig(sales, spark) as rig:
        rig.feed("payments", *inputs)
        found = rig.rows("all")

    assert found == [
        (
            p.card,
            p.cents,
            p.amount,
            p.ratio,
            p.made_at.replace(tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            p.tags,
            p.note,
        )
        for p in inputs
    ]


def test_every_input_is_written_filtered_or_a_dead_letter(spark: SparkSession) -> None:
    inputs: list[Payment | bytes] = [sale(n) for n in range(100)]
    inputs[::7] = [b"?"] * len(inputs[::7])
    sales = Pipeline("sales")
    payments = sales.read(kafka("payments", Payment))
    sales.write("even", payments.where("cents % 2 = 0"), sinks.kafka("even"))
    sales.write("odd", payments.where("cents % 2 = 1"), sinks.kafka("odd"))

    with Rig(sales, spark) as rig:
        rig.feed("payments", *inputs)
        even, odd = rig.rows("even"), rig.rows("odd")
        dead = rig.dead_letters()

    assert len(inputs) == len(even) + len(odd) + len(dead)
    assert [letter.offset for letter in dead] == list(range(0, 100, 7))


def test_a_null_condition_drops_the_event_and_not_the_dead_letter(
    spark: SparkSession,
) -> None:
    sales = Pipeline("sales")
    payments = sales.read(kafka("payments", Payment))
    noted = payments.where("note = 'x'")
    sales.write("one", noted, sinks.kafka("one"))
    # Behind a union the condition is no longer part of the fan-out.
    sales.write("two", noted.union(noted), sinks.kafka("two"))

    with Rig(sales, spark) as rig:
        rig.feed("payments", sale(1), sale(2, note="x"), sale(3, note="y"), b"{")

        assert rig.rows("one", "cents") == [(2,)]
        assert rig.rows("two", "cents") == [(2,), (2,)]
        assert Ran(rig).dead == [b"{"]


def same(df: DataFrame) -> DataFrame:
    return df


@pytest.mark.parametrize(
    "shape",
    [
        lambda s: [s],
        lambda s: [s.where("cents > 10"), s.select("card"), s.derive(x="1")],
        lambda s: [s.union(s)],
        lambda s: [s.union(s.where("cents > 1")).union(s)],
        lambda s: [s.union(s), s, s.transform(same)],
        lambda s: [s.transform(same).union(s).where("cents < 0"), s.where("false")],
        lambda s: [s.transform(same).transform(same), s.transform(same)],
        lambda s: [s.where("cents > 10").union(s.where("cents < 0")).transform(same)],
    ],
    ids=[
        *("source", "fan-out", "with-itself", "three-times", "three-trunks"),
        *("union-of-transform", "transforms", "below-a-transform"),
    ],
)
def test_a_dead_letter_comes_once_whatever_the_shape(
    spark: SparkSession, shape: Callable[[Stream], list[Stream]]
) -> None:
    sales = Pipeline("sales")
    for number, stream in enumerate(shape(sales.read(kafka("payments", Payment)))):
        sales.write(f"out-{number}", stream, sinks.kafka(f"out-{number}"))

    with Rig(sales, spark) as rig:
        rig.feed("payments", sale(1), b"one", b"two", sale(2))

        assert sorted(Ran(rig).dead, key=repr) == [b"one", b"two"]


def test_two_sources_of_a_union_have_their_own_dead_letters(
    spark: SparkSession,
) -> None:
    sales = Pipeline("sales")
    payments = sales.read(kafka("payments", Payment))
    refunds = sales.read(kafka("refunds", Total)).rename(total="cents")
    both = payments.select("card", "cents").union(refunds)
    sales.write("both", both, sinks.kafka("both"))
    sales.write("refunds", refunds, sinks.kafka("refunds-again"))

    with Rig(sales, spark) as rig:
        rig.feed("payments", sale(1), b"p")
        rig.feed("refunds", Total("r", 2), b"r")

        assert rig.rows("both") == [("c1", 1), ("r", 2)]
        assert rig.rows("refunds") == [("r", 2)]
        assert [(d.topic, d.value) for d in rig.dead_letters()] == [
            ("payments", b"p"),
            ("refunds", b"r"),
        ]


def test_a_topic_read_as_two_events_has_dead_letters_of_each(
    spark: SparkSession,
) -> None:
    sales = Pipeline("sales")
    payments = sales.read(kafka("mixed", Payment)).select("card")
    totals = sales.read(kafka("mixed", Total)).select("card")
    sales.write("both", payments.union(totals), sinks.kafka("both"))

    with Rig(sales, spark) as rig:
        rig.feed("mixed", sale(1), Total("t", 1), b"?")

        assert sorted(rig.rows("both")) == [("c1",), ("t",)]
        assert len(rig.dead_letters()) == 4


def test_a_transform_is_called_once_for_all_outputs(spark: SparkSession) -> None:
    calls = []

    def noted(df: DataFrame) -> DataFrame:
        calls.append(df.columns)
        return df

    sales = Pipeline("sales")
    payments = sales.read(kafka("payments", Payment)).select("card", "cents")
    changed = payments.transform(noted)
    sales.write("one", changed.where("cents > 1"), sinks.kafka("one"))
    sales.write("two", changed.union(changed), sinks.kafka("two"))

    with Rig(sales, spark) as rig:
        rig.feed("payments", sale(1), sale(2))

        assert rig.rows("one", "cents") == [(2,)]
        assert len(rig.rows("two")) == 4
    assert calls == [["card", "cents"]]


def test_a_transform_sees_no_dead_letter(spark: SparkSession) -> None:
    sales = Pipeline("sales")
    payments = sales.read(kafka("payments", Payment))

    def strict(df: DataFrame) -> DataFrame:
        return df.withColumn(
            "card", sql.coalesce("card", sql.raise_error(sql.lit("a dead letter")))
        )

    sales.write("out", payments.transform(strict), sinks.kafka("out"))

    with Rig(sales, spark) as rig:
        rig.feed("payments", sale(1), b"?")

        assert len(rig.rows("out")) == 1
        assert Ran(rig).dead == [b"?"]


def test_a_transform_keeps_a_type_that_only_spark_knows(spark: SparkSession) -> None:
    sales = Pipeline("sales")
    payments = sales.read(kafka("payments", Payment))
    derived = payments.select(size="length(card)", fee="amount / 100")
    sales.write("out", derived.transform(same), sinks.kafka("out"))

    with Rig(sales, spark) as rig:
        rig.feed("payments", sale(5))

        assert rig.rows("out") == [(2, Decimal("0.05"))]


def outcome(spark: SparkSession, *streams: Stream) -> None:
    sales = Pipeline("sales")
    for number, stream in enumerate(streams):
        sales.write(f"out-{number}", stream, sinks.kafka(f"out-{number}"))
    with Rig(sales, spark) as rig:
        rig.run()


@pytest.mark.parametrize(
    ("function", "detail"),
    [
        (lambda df: df.drop("card"), '"card" should be string and is absent.'),
        (
            lambda df: df.withColumn("cents", sql.col("cents").cast("string")),
            '"cents" should be bigint and is string.',
        ),
    ],
    ids=["absent", "other-type"],
)
def test_a_transform_with_other_columns_is_refused(
    spark: SparkSession, function: Callable[[DataFrame], DataFrame], detail: str
) -> None:
    payments = Pipeline("sales").read(kafka("payments", Payment))
    changed = payments.transform(function)

    with pytest.raises(Exception, match="transform-columns-differ") as caught:
        outcome(spark, changed)

    assert detail in str(caught.value)
    assert f"where:  {changed.step.where}" in str(caught.value)


def test_a_transform_that_gives_another_event_is_checked(spark: SparkSession) -> None:
    payments = Pipeline("sales").read(kafka("payments", Payment))
    changed = payments.transform(lambda df: df.select("card"), gives=Total)

    with pytest.raises(Exception, match='"total" should be bigint and is absent'):
        outcome(spark, changed)


def test_a_union_of_types_that_only_spark_knows_is_checked(
    spark: SparkSession,
) -> None:
    payments = Pipeline("sales").read(kafka("payments", Payment))
    unknown = payments.select(value="map('a', cents)")
    both = unknown.union(payments.select(value="array(cents)"))

    with pytest.raises(Exception, match="union-columns-differ") as caught:
        outcome(spark, both)

    assert '"value" is map<string,bigint> in one and array<bigint> in the other' in str(
        caught.value
    )


@pytest.mark.parametrize("behind", [0, 1], ids=["fan-out", "behind-a-union"])
@pytest.mark.parametrize(
    ("verb", "reason"),
    [
        (lambda s: s.where("lenght(card) > 1"), "`lenght`"),
        (lambda s: s.select("card", x="lenght(card)"), "`lenght`"),
        (lambda s: s.where("hash(card)"), "INT"),
        (lambda s: s.select(x="card.city"), "card"),
    ],
    ids=["where", "select", "not-a-condition", "nothing-inside"],
)
def test_a_step_that_spark_does_not_take_is_named(
    spark: SparkSession,
    verb: Callable[[Stream], Stream],
    reason: str,
    behind: int,
    capfd: pytest.CaptureFixture[str],
) -> None:
    stream = verb(Pipeline("sales").read(kafka("payments", Payment)))

    with pytest.raises(Exception, match="step-refused") as caught:
        outcome(spark, stream.union(stream) if behind else stream)

    assert reason in str(caught.value)
    assert f"where:  {stream.step.where}" in str(caught.value)
    assert "org.apache.spark" not in "".join(capfd.readouterr())


@event(key="order")
class Odd:
    order: int
    timestamp: datetime
    case: str
    null: int
    größe: int  # noqa: PLC2401


def test_columns_may_be_called_like_words_of_sql(spark: SparkSession) -> None:
    sales = Pipeline("sales")
    odd = sales.read(kafka("odd", Odd))
    chosen = odd.where("order > 1 and `null` > 1").select(
        "case", "null", x="`größe` + 1"
    )
    sales.write("fan", chosen, sinks.kafka("fan"))
    sales.write("trunk", chosen.union(chosen.where("`case` = 'z'")), sinks.kafka("t"))
    sales.write("same", odd.transform(same).rename(order="end"), sinks.kafka("s"))

    with Rig(sales, spark) as rig:
        rig.feed("odd", Odd(2, datetime(2026, 1, 1), "a", 3, 4))

        assert rig.rows("fan") == [("a", 3, 5)]
        assert rig.rows("trunk") == [("a", 3, 5)]
        assert rig.rows("same") == [(2, "2026-01-01T00:00:00.000000Z", "a", 3, 4)]


def test_a_comment_ends_with_its_expression(spark: SparkSession) -> None:
    sales = Pipeline("sales")
    payments = sales.read(kafka("payments", Payment))
    large = payments.where("cents > 1 -- large").select(x="cents + 1 /* more */ -- x")
    sales.write("fan", large, sinks.kafka("fan"))
    sales.write("trunk", large.union(large), sinks.kafka("trunk"))

    with Rig(sales, spark) as rig:
        rig.feed("payments", sale(1), sale(2))

        assert rig.rows("fan") == [(3,)]
        assert rig.rows("trunk") == [(3,), (3,)]


@pytest.mark.parametrize(
    "shape",
    [
        lambda s: [s],
        lambda s: [s, s],
        lambda s: [s.union(s.where("false"))],
    ],
    ids=["one", "fan-out", "behind-a-union"],
)
def test_a_condition_guards_what_comes_behind_it(
    spark: SparkSession, shape: Callable[[Stream], list[Stream]]
) -> None:
    sales = Pipeline("sales")
    payments = sales.read(kafka("payments", Payment))
    guarded = (
        payments.where("cents <> 0")
        .where("100 / cents > 1")
        .select(share="100 / cents", more="200 / cents")
        .derive(sum="share + more")
    )
    for number, stream in enumerate(shape(guarded)):
        sales.write(f"out-{number}", stream, sinks.kafka(f"out-{number}"))

    with Rig(sales, spark) as rig:
        rig.feed("payments", sale(0), sale(50), sale(0))

        for output in sales.outputs:
            assert rig.rows(output.name) == [(2.0, 4.0, 6.0)]


@pytest.mark.parametrize("behind", [0, 1], ids=["fan-out", "behind-a-union"])
def test_nothing_is_computed_over_a_dead_letter(
    spark: SparkSession, behind: int
) -> None:
    sales = Pipeline("sales")
    payments = sales.read(kafka("payments", Payment))
    touchy = payments.where("1 / coalesce(cents, 0) > 0").select(
        "card", share="1 / coalesce(cents, 0)"
    )
    stream = touchy.union(touchy.where("false")) if behind else touchy
    sales.write("out", stream, sinks.kafka("out"))

    with Rig(sales, spark) as rig:
        rig.feed("payments", sale(1), b"?", sale(2))

        assert rig.rows("out") == [("c1", 1.0), ("c2", 0.5)]
        assert Ran(rig).dead == [b"?"]


def test_a_number_has_the_bits_that_were_told(spark: SparkSession) -> None:
    seen: list[list[tuple[str, str]]] = []

    def look(df: DataFrame) -> DataFrame:
        seen.append(df.dtypes)
        return df

    payments = Pipeline("sales").read(kafka("payments", Payment))
    derived = payments.select(size="length(card)", half="cast(ratio as float)", one="1")
    outcome(spark, derived.transform(look))

    told = [(field.name, field.type.sql) for field in derived.step.columns]
    assert told == [("size", "bigint"), ("half", "double"), ("one", "bigint")]
    assert seen == [told]
