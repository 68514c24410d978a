"""JSON into columns: what is read, and what becomes a dead letter and why."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812

from headrace._spark.bridge import decode
from support.cases.poison import GOOD, PAYMENT, POISON, Poison, field, struct
from support.fakes.kafka_rows import COLUMNS, decoded, kafka_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Row, SparkSession

JSON = {"format": "json"}


@pytest.fixture(scope="module")
def verdicts(spark: SparkSession) -> list[Row]:
    """Every poison with a good event before and after it, read as one batch."""
    good = json.dumps(GOOD).encode()
    values = [value for poison in POISON for value in (good, poison.value, good)]
    return decoded(spark, values, PAYMENT, JSON)


@pytest.fixture(scope="module")
def read(spark: SparkSession) -> Callable[..., list[Row]]:
    def read(*values: dict[str, Any] | bytes, **options: str) -> list[Row]:
        encoded = [
            v if isinstance(v, bytes) else json.dumps(v).encode() for v in values
        ]
        return decoded(spark, encoded, PAYMENT, JSON | options)

    return read


def test_there_are_at_least_forty_poisons_of_different_names() -> None:
    assert len({poison.name for poison in POISON}) == len(POISON) >= 40


@pytest.mark.parametrize(
    ("at", "poison"), list(enumerate(POISON)), ids=[p.name for p in POISON]
)
def test_a_poison_becomes_a_dead_letter_with_its_reason(
    verdicts: list[Row], at: int, poison: Poison
) -> None:
    row = verdicts[3 * at + 1]

    assert row["_dead"]["reason"] == poison.reason
    assert poison.detail in row["_dead"]["detail"]
    assert row["_dead"]["value"] == poison.value
    assert row["_dead"]["key"] == b"k"
    assert [(h["key"], h["value"]) for h in row["_dead"]["headers"]] == [("h", b"1")]
    assert row["_origin"]["offset"] == 3 * at + 1
    names = [f["name"] for f in PAYMENT["fields"]]
    assert [row[name] for name in names] == [None] * len(names)


def test_details_are_one_short_line(verdicts: list[Row]) -> None:
    details = [row["_dead"]["detail"] for row in verdicts if row["_dead"]]

    assert len(details) == len(POISON)
    assert [d for d in details if len(d) > 301 or not d.isprintable()] == []


def test_good_events_around_poison_are_untouched(verdicts: list[Row]) -> None:
    good = [row for at, row in enumerate(verdicts) if at % 3 != 1]

    assert {row["_dead"] for row in good} == {None}
    assert {row["card_id"] for row in good} == {"c-1"}
    assert {row["amount"] for row in good} == {Decimal("12.50")}
    at = datetime(2026, 3, 29, 8, 15, 30, 123456, tzinfo=UTC)
    assert {row["made_at"].astimezone(UTC) for row in good} == {at}


def test_all_types_are_read(read: Callable[..., list[Row]]) -> None:
    (row,) = read(
        GOOD
        | {"score": 0.1, "born": "1899-12-31", "photo": "AP8=", "flagged": True}
        | {"token": "6BA7B810-9dad-11d1-80b4-00c04fd430c8", "tags": ["a", "é😀"]}
        | {"home": {"city": "Bern", "zip": 3000}, "stops": [{"city": "A"}]}
    )

    assert row["_dead"] is None
    assert (row["score"], row["born"]) == (0.1, date(1899, 12, 31))
    assert (row["photo"], row["flagged"]) == (b"\x00\xff", True)
    assert row["token"] == "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    assert row["tags"] == ["a", "é😀"]
    assert row["home"].asDict() == {"city": "Bern", "zip": 3000}
    assert [stop.asDict() for stop in row["stops"]] == [{"city": "A"}]


@pytest.mark.parametrize("written", ["7", "7.0", "70e-1", "0.7e1", "-0"])
def test_a_whole_number_may_be_written_with_a_zero_fraction(
    read: Callable[..., list[Row]], written: str
) -> None:
    (row,) = read(json.dumps(GOOD).replace(" 7,", f" {written},").encode())

    assert row["user_id"] == int(float(written))


@pytest.mark.parametrize(
    "written", ["12.5", '"12.5"', "12.500", "1250e-2", "1.25E+1", '"+12.5"']
)
def test_a_decimal_is_exact_however_it_is_written(
    read: Callable[..., list[Row]], written: str
) -> None:
    (row,) = read(json.dumps(GOOD).replace("12.5", written).encode())

    assert row["amount"] == Decimal("12.50")


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1, -(2**63)])
def test_a_long_never_passes_through_a_double(
    read: Callable[..., list[Row]], number: int
) -> None:
    (row,) = read(GOOD | {"user_id": number})

    assert row["user_id"] == number


@pytest.mark.parametrize(
    ("written", "micros"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("2026-03-29 10:15:30+02:00", 1774772130000000),
        ("2026-03-29T10:15:30.1-09:30", 1774813530100000),
        ("2026-03-29T10:15:30.123456789Z", 1774779330123456),
        ("2000-02-29T00:00:00Z", 951782400000000),
        ("0001-01-01T00:00:00Z", -62135596800000000),
        ("9999-12-31T23:59:59Z", 253402300799000000),
    ],
)
def test_a_timestamp_with_an_offset_is_a_point_in_time(
    spark: SparkSession, written: str, micros: int
) -> None:
    rows = kafka_rows(spark, [json.dumps(GOOD | {"made_at": written}).encode()])

    found = decoded(spark, rows, PAYMENT, JSON, "unix_micros(made_at) as micros")

    assert found[0]["micros"] == micros


def test_fields_that_the_event_does_not_have_are_ignored(
    read: Callable[..., list[Row]],
) -> None:
    (row,) = read(GOOD | {"new": {"a": [1, {"card_id": "other"}]}, "": None})

    assert (row["_dead"], row["card_id"]) == (None, "c-1")


def test_the_order_of_fields_does_not_matter(read: Callable[..., list[Row]]) -> None:
    (row,) = read(dict(reversed(GOOD.items())))

    assert (row["card_id"], row["user_id"], row["country"]) == ("c-1", 7, "CH")


def test_an_optional_field_may_be_absent_or_null(
    read: Callable[..., list[Row]],
) -> None:
    absent, null = read(GOOD, GOOD | {"score": None, "home": None})

    assert absent["_dead"] is null["_dead"] is None
    assert (absent["score"], null["score"], null["home"]) == (None, None, None)


def test_a_key_is_read_like_a_value(spark: SparkSession) -> None:
    key = struct(field("id", "long", required=True))
    rows = kafka_rows(spark, [b"ignored"], key=b'{"id": 5}')

    (row,) = decoded(spark, rows, key, JSON | {"what": "key"})

    assert (row["id"], row["_dead"]) == (5, None)


def test_a_tombstone_is_kept_where_it_means_something(
    spark: SparkSession,
) -> None:
    (row,) = decoded(spark, [None], PAYMENT, JSON | {"tombstones": "keep"})

    assert (row["card_id"], row["_dead"]) == (None, None)


def test_the_limit_on_bytes_can_be_set(read: Callable[..., list[Row]]) -> None:
    (row,) = read(GOOD, max_bytes="20")

    assert row["_dead"]["reason"] == "value-too-large"


def test_a_filter_reads_each_value_once(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = kafka_rows(spark, [json.dumps(GOOD).encode()])

    decode(rows, json.dumps(PAYMENT), JSON).where("user_id > 5").explain()

    assert capsys.readouterr().out.count("invoke(json value.read") == 1


def test_a_stream_can_be_windowed_by_a_decoded_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    values = [json.dumps(GOOD).encode(), b"poison", json.dumps(GOOD).encode()]
    kafka_rows(spark, values).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(COLUMNS).parquet(str(tmp_path / "in"))

    counts = (
        decode(stream, json.dumps(PAYMENT), JSON)
        .where("_dead is null")
        .withWatermark("made_at", "0 seconds")
        .groupBy("card_id", F.window("made_at", "1 minute"))
        .count()
    )
    query = (
        counts.writeStream.format("memory")
        .queryName("windowed")
        .outputMode("update")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()

    rows = spark.table("windowed").select("card_id", "count").collect()
    assert rows == [("c-1", 2)]
