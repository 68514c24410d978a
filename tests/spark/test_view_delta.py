"""A Delta table of ours, asked in SQL, has the rows that Spark reads in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace import sinks
from headrace.views.querying import query
from support.harness.handing import Handing

pytest.importorskip("duckdb", reason="the extra `sql` is not installed")


def test_a_delta_table_in_sql_is_the_one_that_spark_reads(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "lake"
    sink = sinks.delta(str(place), mode="merge", partition_by=["city"])
    columns = "id bigint, name string, city string, sold_at timestamp"
    handing = Handing(spark, tmp_path, sink, columns=columns, key="id")
    handing.deliver(0, [(n, f"n{n}", "Ulm", None) for n in range(20)])
    new = [(3, "new", "Ulm", None), (30, "n30", None, None)]
    handing.deliver(1, new, deleted=["5", "7"])
    handing.deliver(2, [(4, "again", "Ulm", None)], deleted=["8"])
    log = "".join(p.read_text() for p in (place / "_delta_log").glob("*.json"))
    assert '"deletionVector"' in log

    found = query("select id, name, city, sold_at from sold", {}, {"sold": place}).rows

    frame = spark.read.format("delta").load(str(place))
    rows = frame.select("id", "name", "city", "sold_at").collect()
    assert sorted(found) == sorted(tuple(row) for row in rows)
    assert len(found) == 18
