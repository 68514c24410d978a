"""Rows as Spark's Kafka source gives them, without a Kafka."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from headrace._spark.bridge import decode, encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Row, SparkSession

COLUMNS = (
    "key binary, value binary, topic string, partition int, offset long, "
    "timestamp timestamp, headers array<struct<key:string,value:binary>>"
)


def kafka_rows(
    spark: SparkSession, values: Sequence[bytes | None], key: bytes = b"k"
) -> DataFrame:
    rows = [
        (key, value, "payments", 0, offset, None, [("h", b"1")])
        for offset, value in enumerate(values)
    ]
    return spark.createDataFrame(rows, COLUMNS)


def decoded(
    spark: SparkSession,
    values: Sequence[bytes | None] | DataFrame,
    schema: Mapping[str, Any],
    options: Mapping[str, str],
    *columns: str,
) -> list[Row]:
    """Read values in the order of their offsets."""
    rows = values if isinstance(values, DataFrame) else kafka_rows(spark, values)
    read = decode(rows, json.dumps(schema), options).orderBy("_origin.offset")
    return read.selectExpr(*columns or ["*"]).collect()


def payloads(
    spark: SparkSession, rows: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]
) -> DataFrame:
    """Give rows with an offset and a payload."""
    payload = StructType.fromJson(dict(schema))
    columns = StructType().add("offset", "long").add("payload", payload)
    return spark.createDataFrame(list(enumerate(rows)), columns)


def encoded(
    spark: SparkSession,
    rows: Sequence[Mapping[str, Any]],
    schema: Mapping[str, Any],
    options: Mapping[str, str],
) -> list[bytes]:
    """Write rows in their order."""
    written = encode(payloads(spark, rows, schema), options).orderBy("offset")
    return [bytes(row["value"]) for row in written.collect()]
