"""What trials share: settings for a while, what batches tell, a driver that dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace import Pipeline
from headrace._spark.delivery import told_batches
from headrace.plan.states import state_owners
from headrace.runtime.progress import BatchProgress, batches_after

LAYOUT = "spark.sql.shuffle.partitions"
WITHOUT_ROWS = "spark.sql.streaming.noDataMicroBatches.enabled"


@contextmanager
def settings(spark: SparkSession, wanted: dict[str, str]) -> Iterator[None]:
    """Set what Spark lets change at any time, and put it back."""
    before = {name: str(spark.conf.get(name)) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def told(
    spark: SparkSession, query: StreamingQuery | None, pipeline: Pipeline
) -> list[BatchProgress]:
    """Give what the batches of a pipeline's query have told."""
    assert query is not None
    batches = partial(told_batches, spark, query)
    delivering: Any = SimpleNamespace(batches=batches, report=dict)
    return list(batches_after(delivering, -1, state_owners(pipeline.outputs)))


def forget_last_commit(checkpoint: Path) -> int:
    """Leave what a driver leaves that died before Spark noted its last batch."""
    commits = checkpoint / "commits"
    last = max(int(path.name) for path in commits.glob("[0-9]*"))
    (commits / f"{last}").unlink()
    (commits / f".{last}.crc").unlink()
    return last
