"""The rows that a query sends: an output's records, and dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as sql

from headrace._spark.bridge import letter_headers
from headrace.delivery.failures import refusal
from headrace.plan.changes import TableRows
from headrace.schema.formats import TO_JSON_OPTIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from headrace.plan.steps import Output

_HEADERS = "array<struct<key:string,value:binary>>"


def sent_row(
    sink: int, key: Column, value: Column, headers: Column | None = None
) -> Column:
    """Give a record for a sink, known by its number."""
    return sql.struct(
        sql.lit(sink).cast("int").alias("sink"),
        key.alias("key"),
        value.alias("value"),
        (sql.lit(None) if headers is None else headers).cast(_HEADERS).alias("headers"),
        sql.lit(None).cast("timestamp").alias("timestamp"),
    )


def dead_letter(spark: SparkSession, sink: int) -> Column:
    """Send an unreadable input as it came, with its origin and the reason."""
    key, value = sql.col("_dead.key"), sql.col("_dead.value")
    record = sent_row(sink, key, value, letter_headers(spark))
    return sql.when(sql.isnotnull("_dead"), record)


def key_of(output: Output, struct: str) -> Column:
    """Give the bytes of the key of an output's columns, which a struct holds."""
    found = _key_bytes([sql.col(f"{struct}.`{n}`").alias(n) for n in output.keys])
    if not isinstance(output.step, TableRows):
        return found
    for name in output.keys:
        if not output.step.columns[name].required:
            no_key = _no_key(output, name).cast("binary")
            found = sql.when(sql.col(f"{struct}.`{name}`").isNull(), no_key).otherwise(
                found
            )
    return found


def _key_bytes(columns: Sequence[Column]) -> Column:
    """Give the bytes of a key: of one column as they are, of several their JSON."""
    match columns:
        case []:
            return sql.lit(None).cast("binary")
        case [only]:
            # A text as UTF-8, bytes as they are.
            return only.cast("string").cast("binary")
    return sql.to_json(sql.struct(*columns), TO_JSON_OPTIONS).cast("binary")


def _no_key(output: Output, column: str) -> Column:
    named = refusal(
        "row-without-key",
        f'output "{output.name}" of a table has a row without a key',
        f'its column "{column}" is null; the row could be neither replaced nor '
        "deleted.",
        "give it a key before the rows are put together: "
        f"derive({column}=\"coalesce({column}, 'none')\"); or leave it out: "
        f'where("{column} is not null").',
    )
    return sql.raise_error(named)
