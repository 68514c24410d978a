"""A table of several key columns, live in every system that keeps rows by key."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import psycopg
import pytest
import redis
from opensearchpy import OpenSearch
from pyspark.sql import SparkSession

from headrace import Pipeline, cdc, digits, event, sinks
from headrace.services.addresses import Addresses
from headrace.testing import Rig, captured

AT = datetime(2026, 3, 29, 10, 15, 0, 123456, tzinfo=UTC)
TOPIC = "shop.public.lines"


@event()
class Line:
    shop: str
    line: int
    cents: Annotated[Decimal, digits(6, 2)]
    at: datetime
    mark: bytes
    what: str | None


FIRST = Line("a/b", 1, Decimal("1.50"), AT, b"\x00\xff", "nut")
# Each differs from the first in one part of the key, some only in the last digit.
LINES = [
    FIRST,
    replace(FIRST, shop='a", "b'),
    replace(FIRST, shop=""),
    replace(FIRST, line=2**53 + 1),
    replace(FIRST, line=2**53),
    replace(FIRST, cents=Decimal("1.51")),
    replace(FIRST, at=AT + timedelta(microseconds=1)),
    replace(FIRST, mark=b"\x00\xfe"),
]
KEY = ("shop", "line", "cents", "at", "mark")


@dataclass
class Shop:
    """The lines of a shop, and what each sink holds of them."""

    pipeline: Pipeline
    name: str
    addresses: Addresses
    lake: Path
    spark: SparkSession

    @property
    def table(self) -> str:
        return self.name.replace("-", "_")

    def in_redis(self) -> list[tuple[str, str | None]]:
        with redis.Redis.from_url(self.addresses.redis()) as client:
            keys = list(client.scan_iter(f"{self.name}:*"))
            rows = [json.loads(client.get(key) or "") for key in keys]
        prefix = len(f"{self.name}:")
        return sorted(
            (key[prefix:].decode(), row["what"])
            for key, row in zip(keys, rows, strict=True)
        )

    def in_opensearch(self) -> list[tuple[str, str | None]]:
        with OpenSearch(self.addresses.opensearch()) as client:
            client.indices.refresh(index=self.name)
            found = client.search(index=self.name, body={"size": 100})["hits"]["hits"]
        return sorted((hit["_id"], hit["_source"].get("what")) for hit in found)

    def in_postgres(self) -> list[tuple[Any, ...]]:
        asked = f"select {', '.join(KEY)}, what from {self.table}"  # noqa: S608
        with psycopg.connect(self.addresses.database("postgres")) as connection:
            return connection.execute(asked.encode()).fetchall()

    def in_delta(self) -> list[tuple[Any, ...]]:
        rows = self.spark.read.format("delta").load(str(self.lake))
        return [
            (*row[:3], row.at.astimezone(UTC), bytes(row.mark), row.what)
            for row in rows.collect()
        ]


@pytest.fixture
def shop(
    spark: SparkSession,
    postgres: str,
    redis_address: str,
    opensearch_address: str,
    addresses: Addresses,
    tmp_path: Path,
) -> Shop:
    name = f"shop-{uuid4().hex[:8]}"
    pipeline = Pipeline(name)
    lines = pipeline.table(cdc.postgres("shop", "public.lines", Line), key=KEY)
    pipeline.write("cache", lines, sinks.redis(name, as_="json"))
    pipeline.write("search", lines, sinks.opensearch(name))
    pipeline.write("warehouse", lines, sinks.postgres(name.replace("-", "_")))
    lake = tmp_path / "lines"
    pipeline.write("lake", lines, sinks.delta(str(lake), mode="merge"))
    return Shop(pipeline, name, addresses, lake, spark)


def test_every_sink_keeps_and_deletes_rows_by_the_whole_key(
    shop: Shop, spark: SparkSession, addresses: Addresses
) -> None:
    gone, changed, *others = LINES
    left = [replace(changed, what="nail"), *others]
    with Rig(shop.pipeline, spark, servers=addresses) as rig:
        rig.feed(TOPIC, *(captured("insert", line) for line in LINES))
        rig.feed(
            TOPIC,
            captured("update", left[0], position=2),
            captured("delete", gone, position=3),
        )

    rows = sorted((*(getattr(line, name) for name in KEY), line.what) for line in left)
    assert sorted(shop.in_postgres()) == rows
    assert sorted(shop.in_delta()) == rows
    assert len(shop.in_redis()) == len(left)
    assert shop.in_redis() == shop.in_opensearch()
    assert (
        '{"shop":"","line":1,"cents":1.50,"at":"2026-03-29T10:15:00.123456Z",'
        '"mark":"AP8="}',
        "nut",
    ) in shop.in_redis()
