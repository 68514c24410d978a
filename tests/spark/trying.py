"""What trials of steps share: settings for a while, and a driver that dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

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


def forget_last_commit(checkpoint: Path) -> int:
    """Leave what a driver leaves that died before Spark noted its last batch."""
    commits = checkpoint / "commits"
    last = max(int(path.name) for path in commits.glob("[0-9]*"))
    (commits / f"{last}").unlink()
    (commits / f".{last}.crc").unlink()
    return last
