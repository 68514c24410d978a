"""The rig: batches, restarts and crashes, and how it says what went wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from math import inf, isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import pytest

from headrace import Pipeline, digits, event, hours, kafka, sinks
from headrace.testing import DeadLetter, Rig
from support.harness.refusals import refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@event(key="user")
class Click:
    user: str
    count: int


def clicks_over(limit: int) -> Pipeline:
    many = Pipeline("many")
    clicks = many.read(kafka("clicks", Click))
    many.write("many", clicks.where(f"count > {limit}"), sinks.kafka("many-clicks"))
    return many


@pytest.fixture
def rig(spark: SparkSession) -> Iterator[Rig]:
    with Rig(clicks_over(1), spark) as rig:
        yield rig


def test_nothing_fed_is_nothing_written(rig: Rig) -> None:
    assert rig.rows("many") == []

    rig.run()

    assert rig.rows("many") == []
    assert rig.dead_letters() == []


def test_rows_come_batch_after_batch_however_many_there_are(rig: Rig) -> None:
    # Spark puts its list of files together every ten batches.
    for number in range(2, 14):
        rig.feed("clicks", Click("ann", number), Click("bob", number))

    assert rig.rows("many") == [
        (user, number) for number in range(2, 14) for user in ("ann", "bob")
    ]
    assert rig.rows("many", "count", "user")[:2] == [(2, "ann"), (2, "bob")]


def test_a_restart_changes_nothing(rig: Rig) -> None:
    rig.feed("clicks", Click("ann", 2), b"?")
    before = rig.rows("many"), rig.dead_letters()

    rig.restart()

    assert (rig.rows("many"), rig.dead_letters()) == before


def test_a_crash_repeats_the_batch_and_not_its_output(rig: Rig) -> None:
    rig.feed("clicks", Click("ann", 2), b"?")
    rig.feed("clicks", Click("bob", 3), Click("bob", 1))

    rig.crash()
    rig.feed("clicks", Click("eve", 4))
    rig.crash()
    rig.crash()

    assert rig.rows("many") == [("ann", 2), ("bob", 3), ("eve", 4)]
    assert len(rig.dead_letters()) == 1


def test_a_crash_before_the_first_batch_loses_nothing(rig: Rig) -> None:
    rig.crash()
    rig.feed("clicks", Click("ann", 2))

    assert rig.rows("many") == [("ann", 2)]


def test_a_dead_letter_has_its_bytes_its_reason_and_its_place(rig: Rig) -> None:
    rig.feed("clicks", Click("ann", 2))
    rig.feed("clicks", b"\xff\x00", None, b'{"user": "ann", "count": "two"}')

    one, two, three = rig.dead_letters()

    assert (one.value, one.reason, one.topic) == (
        b"\xff\x00",
        "text-not-utf8",
        "clicks",
    )
    assert (two.value, two.reason) == (None, "value-missing")
    assert three == DeadLetter(
        value=b'{"user": "ann", "count": "two"}',
        reason="field-wrong-type",
        detail=three.detail,
        topic="clicks",
        partition=0,
        offset=3,
    )
    assert "count" in three.detail
    assert [letter.offset for letter in (one, two, three)] == [1, 2, 3]


def test_a_topic_that_is_not_read_cannot_be_fed(rig: Rig) -> None:
    with refused("topic-not-read") as caught:
        rig.feed("klicks", Click("ann", 1))

    assert caught.value.hint == "it reads clicks."


def test_an_output_that_is_not_there_has_no_rows(rig: Rig) -> None:
    with refused("output-unknown") as caught:
        rig.rows("few")

    assert caught.value.hint == "it has many."


def test_closing_leaves_no_file_behind(spark: SparkSession) -> None:
    with Rig(clicks_over(1), spark) as rig:
        home = rig._home
        rig.feed("clicks", Click("ann", 2))
        assert home.is_dir()

    assert not home.exists()


def test_two_rigs_do_not_see_each_other(spark: SparkSession) -> None:
    with Rig(clicks_over(1), spark) as one, Rig(clicks_over(5), spark) as two:
        one.feed("clicks", Click("ann", 9))
        two.feed("clicks", Click("bob", 9))

        assert one.rows("many") == [("ann", 9)]
        assert two.rows("many") == [("bob", 9)]


class Kind(Enum):
    CARD = "card"
    CASH = 2


@event()
class Place:
    city: str
    height: float | None


@event(key="raw")
class Everything:
    raw: bytes
    text: str
    whole: int
    real: float
    truth: bool
    exact: Annotated[Decimal, digits(38, 18)]
    moment: datetime
    day: date
    uuid: UUID
    kind: Kind
    place: Place
    places: list[Place]
    prices: list[Annotated[Decimal, digits(10, 2)]]
    maybe: Annotated[Decimal, digits(4, 1)] | None = None


EVERYTHING = Everything(
    raw=b"\x00\xff\xfe",
    text='Zürich "😀" \\ \n \x01',
    whole=-(2**63),
    real=0.1,
    truth=True,
    exact=Decimal("12345678901234567890.123456789012345678"),
    moment=datetime(2026, 3, 29, 2, 30, 0, 1, timezone(timedelta(hours=2))),
    day=date(1900, 2, 28),
    uuid=UUID(int=2**127),
    kind=Kind.CASH,
    place=Place("Bern", 0.3),
    places=[Place("a", None), Place("b", -0.7)],
    prices=[Decimal("0.10"), Decimal("-99999999.99")],
)
WRITTEN: dict[str, Any] = {
    "raw": "AP/+",
    "text": EVERYTHING.text,
    "whole": -(2**63),
    "real": 0.1,
    "truth": True,
    "exact": EVERYTHING.exact,
    "moment": "2026-03-29T00:30:00.000001Z",
    "day": "1900-02-28",
    "uuid": "80000000-0000-0000-0000-000000000000",
    "kind": "CASH",
    "place": {"city": "Bern", "height": 0.3},
    "places": [{"city": "a", "height": None}, {"city": "b", "height": -0.7}],
    "prices": EVERYTHING.prices,
    "maybe": None,
}


@pytest.fixture
def everything(spark: SparkSession) -> Iterator[Rig]:
    pipeline = Pipeline("everything")
    events = pipeline.read(kafka("everything", Everything))
    pipeline.write("same", events, sinks.kafka("same"))
    with Rig(pipeline, spark) as rig:
        yield rig


def test_every_type_passes_through_a_pipeline_unchanged(everything: Rig) -> None:
    everything.feed("everything", EVERYTHING)

    assert everything.dead_letters() == []
    (found,) = everything.rows("same")
    assert dict(zip(WRITTEN, found, strict=True)) == WRITTEN
    assert [type(value) for value in found] == [type(v) for v in WRITTEN.values()]


def test_numbers_that_json_has_no_word_for_pass_too(everything: Rig) -> None:
    for real in (nan, inf, -inf):
        everything.feed("everything", replace(EVERYTHING, real=real))

    found = [float(real) for (real,) in everything.rows("same", "real")]
    assert isnan(found[0])
    assert found[1:] == [inf, -inf]


def test_a_key_of_bytes_is_sent_byte_for_byte(everything: Rig) -> None:
    everything.feed("everything", EVERYTHING)

    (record,) = everything._records()
    assert record["key"] == WRITTEN["raw"]


def test_a_time_without_an_offset_is_utc_whatever_the_session_says(
    everything: Rig, spark: SparkSession
) -> None:
    naive = replace(EVERYTHING, moment=datetime(2026, 7, 1, 12))
    aware = replace(EVERYTHING, moment=datetime(2026, 7, 1, 12, tzinfo=UTC))
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        everything.feed("everything", naive, aware)
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))

    assert everything.rows("same", "moment") == [("2026-07-01T12:00:00.000000Z",)] * 2


def test_a_batch_is_written_as_it_would_be_to_kafka(rig: Rig) -> None:
    rig.feed("clicks", Click("ann", 2), b"?")

    out = Path(rig._home, "out")
    lines = [
        json.loads(line)
        for file in out.glob("*.json")
        for line in file.read_text().splitlines()
    ]
    assert [set(line) for line in lines] == [
        {"sink", "key", "value", "headers", "timestamp"}
    ] * 2
    assert sorted(line["sink"] for line in lines) == [0, 1]


def test_a_crash_repeats_the_batch_of_a_stateful_pipeline(spark: SparkSession) -> None:
    @event(key="card", time="made_at")
    class Swipe:
        card: str
        made_at: datetime

    swipes = Pipeline("swipes")
    read = swipes.read(kafka("swipes", Swipe))
    once = read.dedupe("once", by="card", within=hours(1))
    swipes.write("first", once, sinks.kafka("first"))
    at = datetime(2026, 1, 1, 10, tzinfo=UTC)
    with Rig(swipes, spark) as rig:
        rig.feed("swipes", Swipe("a", at), Swipe("a", at), Swipe("b", at))
        rig.crash()
        rig.feed("swipes", Swipe("b", at), Swipe("c", at))
        rig.crash()

        assert sorted(rig.rows("first", "card")) == [("a",), ("b",), ("c",)]
