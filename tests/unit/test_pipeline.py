"""Pipelines: what is declared, what is refused, and that nothing starts."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from math import nan

import pytest

from headrace import (
    Pipeline,
    Stream,
    days,
    event,
    hours,
    kafka,
    milliseconds,
    minutes,
    seconds,
    sinks,
    watermarks,
)
from headrace.plan.steps import Read
from headrace.sources import KafkaSource
from support.harness.refusals import refused


@event(key="card")
class Payment:
    card: str
    cents: int


@pytest.fixture
def sales() -> Pipeline:
    return Pipeline("sales")


@pytest.fixture
def payments(sales: Pipeline) -> Stream:
    return sales.read(kafka("payments", Payment))


def test_a_pipeline_writes_with_one_lane_and_a_limit_of_one_half(
    sales: Pipeline,
) -> None:
    assert (sales.lanes, sales.dead_letter_limit) == (1, 0.5)
    assert sales.dead_letter_topic == "sales.dead-letters"
    assert sales.outputs == ()


def test_outputs_are_kept_in_the_order_of_declaration(
    sales: Pipeline, payments: Stream
) -> None:
    sales.write("all", payments, sinks.kafka("all"))
    large = payments.where("cents > 100")
    sales.write("large", large, sinks.kafka("large"), delivery="at-least-once")

    one, two = sales.outputs
    assert (one.name, one.step, one.delivery) == ("all", payments.step, "exactly-once")
    assert (two.name, two.step, two.delivery) == ("large", large.step, "at-least-once")
    assert one.where.startswith("test_pipeline.py:")


def test_an_output_is_keyed_as_its_events_are(
    sales: Pipeline, payments: Stream
) -> None:
    sales.write("same", payments.rename(card="payer"), sinks.kafka("a"))
    sales.write("other", payments, sinks.kafka("b", key="cents"))
    sales.write("none", payments.select("cents"), sinks.kafka("c"))

    assert [output.key for output in sales.outputs] == ["payer", "cents", None]


def test_a_source_is_read_from_its_earliest_event_as_json(payments: Stream) -> None:
    assert isinstance(payments.step, Read)
    source = payments.step.source

    assert isinstance(source, KafkaSource)
    assert (source.topic, source.event) == ("payments", Payment)
    assert (source.format, source.start) == ("json", "earliest")


def test_out_of_order_is_kept_with_the_source(sales: Pipeline) -> None:
    step = sales.read(kafka("payments", Payment), out_of_order=seconds(10)).step

    assert isinstance(step, Read)
    assert step.watermark == watermarks.by_partition(seconds(10))


def test_durations_are_times() -> None:
    assert hours(1) == minutes(60) == seconds(3600) == milliseconds(3_600_000)
    assert days(0.5) == timedelta(hours=12)


@pytest.mark.parametrize("name", ["Sales", "1st", "a_b", "", "a.b", "a b", "x" * 64])
def test_a_name_that_topics_and_checkpoints_cannot_have_is_refused(
    sales: Pipeline, payments: Stream, name: str
) -> None:
    with refused("name-refused"):
        Pipeline(name)
    with refused("name-refused"):
        sales.write(name, payments, sinks.kafka("out"))

    assert not sales.outputs


@pytest.mark.parametrize("name", ["a", "sales-2", "x" * 63])
def test_other_names_are_taken(name: str) -> None:
    assert Pipeline(name).name == name


def test_a_pipeline_without_a_lane_is_refused() -> None:
    with refused("lanes-below-one"):
        Pipeline("sales", lanes=0)


@pytest.mark.parametrize("share", [-0.1, 1.1, nan])
def test_a_limit_that_is_no_share_is_refused(share: float) -> None:
    with refused("share-out-of-range"):
        Pipeline("sales", dead_letter_limit=share)


@pytest.mark.parametrize("share", [0, 1])
def test_a_limit_may_be_none_or_all(share: float) -> None:
    assert Pipeline("sales", dead_letter_limit=share).dead_letter_limit == share


def test_an_output_has_a_name_of_its_own(sales: Pipeline, payments: Stream) -> None:
    sales.write("all", payments, sinks.kafka("all"))

    with refused("output-name-taken"):
        sales.write("all", payments, sinks.kafka("other"))


def test_a_delivery_that_does_not_exist_is_refused(
    sales: Pipeline, payments: Stream
) -> None:
    with refused("delivery-unknown") as caught:
        sales.write("all", payments, sinks.kafka("all"), delivery="at-most-once")

    assert caught.value.hint == "choose from exactly-once, at-least-once."


def test_a_sink_is_keyed_by_a_column(sales: Pipeline, payments: Stream) -> None:
    with refused("column-unknown") as caught:
        sales.write("all", payments, sinks.kafka("all", key="user"))

    assert caught.value.detail == "the columns are card, cents."


def test_a_class_that_is_no_event_cannot_be_read(sales: Pipeline) -> None:
    with refused("not-an-event"):
        sales.read(kafka("payments", dict))


def test_a_negative_duration_is_refused(sales: Pipeline) -> None:
    with refused("duration-negative"):
        sales.read(kafka("payments", Payment), out_of_order=seconds(-1))


@pytest.mark.parametrize("topic", ["", "a b", "ä", ".", "..", "x" * 250, "a/b"])
def test_a_topic_that_kafka_would_refuse_is_refused(topic: str) -> None:
    with refused("topic-name-refused"):
        kafka(topic, Payment)
    with refused("topic-name-refused"):
        sinks.kafka(topic)


def test_a_format_that_does_not_exist_is_refused() -> None:
    with refused("format-unknown"):
        kafka("payments", Payment, format="xml")
    with refused("format-unknown") as caught:
        sinks.kafka("payments", format="xml")

    assert caught.value.hint == "choose from json, avro, protobuf, json-schema."


def test_a_start_that_does_not_exist_is_refused() -> None:
    with refused("start-unknown"):
        kafka("payments", Payment, start="yesterday")


DECLARE = """
import json, sys
from datetime import datetime
from headrace import Pipeline, event, kafka, seconds, sinks

@event(key="card", time="made_at")
class Payment:
    card: str
    cents: int
    made_at: datetime

sales = Pipeline("sales")
payments = sales.read(kafka("payments", Payment), out_of_order=seconds(10))
large = payments.where("cents > 100").derive(euros="cents / 100").rename(card="payer")
both = large.union(large.where("euros < 5")).transform(lambda df: df)
sales.write("both", both, sinks.kafka("both"))
json.dump([sorted(sys.modules), sales.explain()], sys.stdout)
"""


def test_declaring_and_explaining_needs_neither_pyspark_nor_a_jvm() -> None:
    done = subprocess.run(
        [sys.executable, "-c", DECLARE], capture_output=True, text=True, check=True
    )
    modules, told = json.loads(done.stdout)

    assert not {"pyspark", "py4j", "confluent_kafka"} & set(modules)
    assert [step["verb"] for step in told["steps"]] == [
        *("read", "where", "select", "select", "where", "union", "transform")
    ]
