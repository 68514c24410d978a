"""A key whose type only Spark can tell is looked at when the pipeline is planned."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from headrace import Pipeline, StepError, event, kafka, sinks
from headrace.schema.types import Unknown
from headrace.testing import Rig


@event(key="card")
class Payment:
    card: str
    cents: int


def keyed_by(expression: str) -> Pipeline:
    sales = Pipeline("sales")
    payments = sales.read(kafka("payments", Payment)).derive(k=expression)
    assert payments.step.columns["k"].type == Unknown()
    sales.write("out", payments, sinks.kafka("out", key="k"))
    return sales


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("array_repeat(card, 2)", "array<string>"),
        ("bround(cents / 7D)", "double"),
        ("named_struct('card', card)", "struct<card:string>"),
    ],
)
def test_a_key_that_bytes_do_not_identify_is_refused(
    spark: SparkSession, expression: str, kind: str
) -> None:
    sales = keyed_by(expression)

    with Rig(sales, spark) as rig, pytest.raises(StepError) as caught:
        rig.feed("payments", Payment("c1", 1))

    assert caught.value.slug == "key-type-unsupported"
    assert f'keyed by "k" of type {kind}' in caught.value.fact
    assert caught.value.where == sales.outputs[0].where


def test_any_other_key_is_taken(spark: SparkSession) -> None:
    with Rig(keyed_by("mask(card)"), spark) as rig:
        rig.feed("payments", Payment("c1", 1))

        assert rig.rows("out", "card") == [("c1",)]
