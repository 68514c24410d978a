"""Where an output cannot go, and what cannot key it, is refused at its declaration."""

from __future__ import annotations

import pytest

from headrace import Pipeline, Stream, event, kafka, sinks
from headrace.sinks import KafkaSink
from support.harness.refusals import refused


@event()
class Part:
    sku: str


@event(key="card")
class Payment:
    card: str
    cents: int
    share: float
    tags: list[str]
    part: Part


@pytest.fixture
def sales() -> Pipeline:
    return Pipeline("sales")


@pytest.fixture
def payments(sales: Pipeline) -> Stream:
    return sales.read(kafka("payments", Payment))


def test_a_topic_that_is_read_cannot_be_written(
    sales: Pipeline, payments: Stream
) -> None:
    with refused("topic-read-and-written") as caught:
        sales.write("again", payments.where("cents > 1"), sinks.kafka("payments"))

    assert 'topic "payments", which it reads' in caught.value.fact
    assert payments.step.where in (caught.value.detail or "")
    assert not sales.outputs


def test_what_one_output_writes_is_not_read_for_another(
    sales: Pipeline, payments: Stream
) -> None:
    sales.write("first", payments, sinks.kafka("there"))
    there = sales.read(kafka("there", Payment))

    with refused("topic-read-and-written") as caught:
        sales.write("second", there, sinks.kafka("elsewhere"))

    assert 'output "first" writes it' in (caught.value.detail or "")


def test_each_source_of_a_union_counts(sales: Pipeline, payments: Stream) -> None:
    more = sales.read(kafka("more", Payment))

    with refused("topic-read-and-written"):
        sales.write("both", payments.union(more), sinks.kafka("more"))


@pytest.mark.parametrize("topic", ["sales.dead-letters", "headrace.sales.progress"])
def test_a_pipeline_does_not_read_what_it_keeps_for_itself(
    sales: Pipeline, topic: str
) -> None:
    own = sales.read(kafka(topic, Payment))

    with refused("topic-read-and-written") as caught:
        sales.write("own", own, sinks.kafka("out"))

    assert caught.value.hint == "read it in a pipeline of another name."


@pytest.mark.parametrize("topic", ["other.dead-letters", "headrace.other.progress"])
def test_what_another_pipeline_keeps_may_be_read(sales: Pipeline, topic: str) -> None:
    sales.write("theirs", sales.read(kafka(topic, Payment)), sinks.kafka("out"))

    assert len(sales.outputs) == 1


def test_no_output_goes_among_the_dead_letters(
    sales: Pipeline, payments: Stream
) -> None:
    with refused("topic-reserved"):
        sales.write("out", payments, sinks.kafka("sales.dead-letters"))


def test_no_sink_is_one_of_our_own_topics() -> None:
    with refused("topic-reserved"):
        sinks.kafka("headrace.other.progress")


def test_outputs_that_are_alike_may_share_a_topic(
    sales: Pipeline, payments: Stream
) -> None:
    large = payments.where("cents > 100").select("card", "cents")
    refunds = payments.where("cents < 0").select("cents", "card")
    sales.write("large", large, sinks.kafka("alerts"))
    sales.write("refunds", refunds, sinks.kafka("alerts"))

    topics = []
    for output in sales.outputs:
        assert isinstance(output.sink, KafkaSink)
        topics.append(output.sink.topic)
    assert topics == ["alerts", "alerts"]


@pytest.mark.parametrize(
    ("columns", "sink", "said"),
    [
        (("card",), {}, '"cents" is bigint in one and absent in the other'),
        (("card", "cents", "share"), {}, '"share" is absent in one and double in'),
        (("card", "cents"), {"key": "cents"}, "one is keyed by card, the other by"),
        (("card", "cents"), {"format": "avro"}, "one writes json, the other avro"),
    ],
)
def test_outputs_that_differ_cannot_share_a_topic(
    sales: Pipeline,
    payments: Stream,
    columns: tuple[str, ...],
    sink: dict[str, str],
    said: str,
) -> None:
    sales.write("one", payments.select("card", "cents"), sinks.kafka("alerts"))

    with refused("topic-shared") as caught:
        sales.write("other", payments.select(*columns), sinks.kafka("alerts", **sink))

    assert said in (caught.value.detail or "")
    assert sales.outputs[0].where in (caught.value.detail or "")


def test_a_type_makes_outputs_differ(sales: Pipeline, payments: Stream) -> None:
    sales.write("one", payments.select("card", "cents"), sinks.kafka("alerts"))
    text = payments.select("card", cents="string(cents)")

    with refused("topic-shared") as caught:
        sales.write("other", text, sinks.kafka("alerts"))

    assert '"cents" is bigint in one and string' in (caught.value.detail or "")


def test_a_type_that_only_spark_can_tell_is_not_taken_for_the_same(
    sales: Pipeline, payments: Stream
) -> None:
    hashed = [payments.select("card", h="hll_sketch_estimate(card)") for _ in range(2)]
    sales.write("one", hashed[0], sinks.kafka("alerts"))

    with refused("topic-shared") as caught:
        sales.write("other", hashed[1], sinks.kafka("alerts"))

    assert "a cast would say it" in (caught.value.detail or "")


def test_a_stream_is_not_written_twice_into_one_topic(
    sales: Pipeline, payments: Stream
) -> None:
    sales.write("one", payments, sinks.kafka("alerts"))

    with refused("topic-shared") as caught:
        sales.write("again", payments, sinks.kafka("alerts"))

    assert "each event would be there twice" in (caught.value.detail or "")


@pytest.mark.parametrize("format_", ["avro", "protobuf", "json-schema"])
def test_a_topic_with_a_schema_has_one_output(
    sales: Pipeline, payments: Stream, format_: str
) -> None:
    narrow = [payments.select("card"), payments.select("card")]
    sales.write("one", narrow[0], sinks.kafka("alerts", format=format_))

    with refused("topic-shared") as caught:
        sales.write("other", narrow[1], sinks.kafka("alerts", format=format_))

    assert "a topic has one schema" in (caught.value.detail or "")


@pytest.mark.parametrize(
    ("key", "cast"),
    [
        ("share", "string(share)"),
        ("tags", "to_json(tags)"),
        ("part", "to_json(part)"),
    ],
)
def test_a_key_that_bytes_do_not_identify_is_refused(
    sales: Pipeline, payments: Stream, key: str, cast: str
) -> None:
    with refused("key-type-unsupported") as caught:
        sales.write("out", payments, sinks.kafka("out", key=key))

    assert cast in (caught.value.hint or "")
    sales.write("out", payments.derive(k=cast), sinks.kafka("out", key="k"))


def test_the_key_that_came_with_the_stream_is_looked_at_too(
    sales: Pipeline, payments: Stream
) -> None:
    bent = payments.derive(card="share")

    sales.write("bent", bent, sinks.kafka("bent"))
    with refused("key-type-unsupported"):
        sales.write("by-share", bent, sinks.kafka("by-share", key="card"))

    assert [output.key for output in sales.outputs] == [None]
