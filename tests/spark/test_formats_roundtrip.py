"""What one side writes, the other reads as the same: all formats, all types."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F  # noqa: N812

from headrace._spark.bridge import decode, encode
from headrace.schema.avro import avro_schema
from headrace.schema.formats import TO_JSON_OPTIONS
from headrace.schema.names import FORMATS
from headrace.schema.protobuf import numbered
from support.cases.poison import field, list_of, struct
from support.fakes.fake_registry import FakeRegistry, fake_registry
from support.fakes.kafka_rows import payloads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

SYMBOLS = ["CH", "DE"]

INNER = struct(field("city", "string", required=True), field("zip", "long"))

SCALARS = {
    "text": ("string", st.text(st.characters(exclude_categories=["Cs"]))),
    "whole": ("long", st.integers(-(2**63), 2**63 - 1)),
    "small": ("integer", st.integers(-(2**31), 2**31 - 1)),
    "real": ("double", st.floats()),
    "single": ("float", st.floats(width=32)),
    "truth": ("boolean", st.booleans()),
    "money": ("decimal(12,2)", st.decimals(-(10**9), 10**9, places=2)),
    "exact": ("decimal(38,18)", st.decimals(-(10**19), 10**19, places=18)),
    "at": (
        "timestamp",
        st.datetimes(
            datetime(1800, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)
        ),
    ),
    "day": ("date", st.dates(date(1, 1, 1), date(9999, 12, 31))),
    "blob": ("binary", st.binary()),
}

INNER_VALUES = st.fixed_dictionaries(
    {"city": st.text("aé", max_size=3), "zip": st.none() | st.integers(0, 9)}
)

EVENT = struct(
    *(field(name, kind, required=True) for name, (kind, _) in SCALARS.items()),
    *(field(f"maybe_{name}", kind) for name, (kind, _) in SCALARS.items()),
    field("token", "string", required=True, headrace="uuid"),
    field("country", "string", headrace="enum", symbols=SYMBOLS),
    field("home", INNER, required=True),
    field("maybe_home", INNER),
    field("tags", list_of("string"), required=True),
    field("amounts", list_of("decimal(12,2)"), required=True),
    field("stops", list_of(INNER), required=True),
)

EVENTS = st.fixed_dictionaries(
    {name: values for name, (_, values) in SCALARS.items()}
    | {f"maybe_{name}": st.none() | values for name, (_, values) in SCALARS.items()}
    | {
        "token": st.uuids().map(str),
        "country": st.none() | st.sampled_from(SYMBOLS),
        "home": INNER_VALUES,
        "maybe_home": st.none() | INNER_VALUES,
        "tags": st.lists(st.text("aé", max_size=3), max_size=3),
        "amounts": st.lists(SCALARS["money"][1], max_size=3),
        "stops": st.lists(INNER_VALUES, max_size=3),
    }
)

TYPES = {"avro": "AVRO", "protobuf": "PROTOBUF", "json-schema": "JSON"}


@pytest.fixture(scope="module")
def registry() -> Iterator[FakeRegistry]:
    with fake_registry() as started:
        yield started


def rows_of(df: DataFrame, column: str) -> list[str]:
    """Show each row's values, so that NaN is like NaN."""
    return [repr(row[column]) for row in df.orderBy("offset").collect()]


def read_back(written: DataFrame, schema: Any, options: dict[str, str]) -> DataFrame:
    rows = written.select(
        F.lit(None).cast("binary").alias("key"),
        "value",
        F.lit("t").alias("topic"),
        F.lit(0).alias("partition"),
        "offset",
        F.lit(None).cast("timestamp").alias("timestamp"),
    )
    names = [f["name"] for f in EVENT["fields"]]
    read = decode(rows, json.dumps(schema), options)
    return read.select(
        F.col("_origin.offset"), F.struct(*names).alias("payload"), "_dead"
    )


@pytest.mark.parametrize("format_", FORMATS)
@settings(max_examples=3, deadline=None, derandomize=True)
@given(rows=st.lists(EVENTS, min_size=1, max_size=30))
def test_what_is_written_is_read_as_the_same(
    spark: SparkSession, registry: FakeRegistry, format_: str, rows: list[Any]
) -> None:
    schema = numbered(EVENT, None) if format_ == "protobuf" else EVENT
    options = {"format": format_, "registry": registry.address}
    if format_ in TYPES:
        text = avro_schema(EVENT, "Event") if format_ == "avro" else "{}"
        options["schema_id"] = str(registry.add(TYPES[format_], text))
    given = payloads(spark, rows, EVENT)

    written = encode(given, options | {"schema": json.dumps(schema)})
    read = read_back(written, schema, options)

    assert read.where("_dead is not null").select("_dead").collect() == []
    assert rows_of(read, "payload") == rows_of(given, "payload")


@settings(max_examples=3, deadline=None, derandomize=True)
@given(rows=st.lists(EVENTS, min_size=1, max_size=30))
def test_what_spark_writes_as_json_is_read_as_the_same(
    spark: SparkSession, rows: list[Any]
) -> None:
    given = payloads(spark, rows, EVENT)

    written = given.select(
        "offset", F.to_json("payload", TO_JSON_OPTIONS).cast("binary").alias("value")
    )
    read = read_back(written, EVENT, {"format": "json"})

    assert read.where("_dead is not null").select("_dead").collect() == []
    assert rows_of(read, "payload") == rows_of(given, "payload")
