"""The headers of dead letters, byte for byte."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from headrace._spark.bridge import letter_headers

SCHEMA = (
    "_dead struct<reason: string, detail: string, key: binary, value: binary, "
    "headers: array<struct<key: string, value: binary>>>, "
    "_origin struct<topic: string, partition: int, offset: bigint, "
    "timestamp: timestamp>"
)
ORIGIN = ("topic", "partition", "offset", "time")
TIME = datetime(2026, 3, 1, 10, 0, 0, 120_000, tzinfo=UTC)


def headers(
    spark: SparkSession, dead: Any, origin: Any
) -> list[tuple[str, Any]] | None:
    frame = spark.createDataFrame([(dead, origin)], SCHEMA)
    (row,) = frame.select(letter_headers(spark).alias("headers")).collect()
    return row.headers and [(key, value and bytes(value)) for key, value in row.headers]


def test_a_letter_has_its_own_headers_its_reason_and_its_origin(
    spark: SparkSession,
) -> None:
    own = [("trace", b"\x00\xff"), ("empty", None), ("trace", b"again")]
    dead = ("not-json", "at byte 1: é", b"k", b"{", own)

    assert headers(spark, dead, ("payments", 3, 2**40, TIME)) == [
        *own,
        ("headrace.reason", b"not-json"),
        ("headrace.detail", "at byte 1: é".encode()),
        ("headrace.origin.topic", b"payments"),
        ("headrace.origin.partition", b"3"),
        ("headrace.origin.offset", b"1099511627776"),
        ("headrace.origin.time", b"2026-03-01 10:00:00.12"),
    ]


def test_what_is_not_known_of_a_letter_has_no_value(spark: SparkSession) -> None:
    names = ["reason", "detail", *(f"origin.{n}" for n in ORIGIN)]
    nothing = [(f"headrace.{name}", None) for name in names]

    assert headers(spark, (None,) * 5, (None,) * 4) == nothing
    assert headers(spark, (None,) * 5, None) == nothing
    assert headers(spark, None, None) is None
