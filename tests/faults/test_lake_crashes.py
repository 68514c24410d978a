"""Whatever phase a driver dies in, a lake holds every row once."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.sinks import read_files
from support.harness.rig import PIPELINES, Ending, ending, launch, stopped_jvm
from support.harness.waiting import wait_until

# Each kills a dozen drivers.
pytestmark = pytest.mark.long

DRIVER = PIPELINES / "lake_driver.py"

KEYS, PER_BATCH = 5, 40

# The second time, a driver has written a batch before it dies.
PHASES = {
    "append": [
        "after-offsets:2",
        "ledger-read:2",
        # The table itself is the log's first commit.
        "delta.rows-flushed:2",
        "delta.commit-in-doubt:2",
        "before-mark:2",
        "committed:2",
        "before-spark-commit:2",
    ],
    "merge": [
        "ledger-read:2",
        "delta.rows-flushed:2",
        "delta.commit-in-doubt:2",
        "before-mark:2",
        "committed:2",
    ],
    "files": [
        "ledger-read:2",
        "files.rows-flushed:2",
        "files.commit-in-doubt:2",
        "before-mark:2",
        "committed:2",
    ],
}


class Lake:
    """Numbered lines, a lake that they are copied into, and its readers."""

    def __init__(self, spark: SparkSession, home: Path, kind: str) -> None:
        self.spark = spark
        self.kind = kind
        self.place = home / "lake"
        self.source = home / "source"
        self.checkpoint = home / "checkpoint"
        self.source.mkdir()

    def feed(self, batches: int) -> None:
        for batch in range(batches):
            numbers = range(batch * PER_BATCH, (batch + 1) * PER_BATCH)
            lines = [json.dumps({"key": f"k{n % KEYS}", "number": n}) for n in numbers]
            file = self.source / f"{batch:03}.json"
            file.write_text("\n".join(lines) + "\n")
            # Spark takes the oldest file first, and two written at once are of one age.
            os.utime(file, (batch, batch))

    def start(
        self, failpoint: str | None = None, *, take_over: bool = False
    ) -> subprocess.Popen[str]:
        given = {
            "kind": self.kind,
            "place": str(self.place),
            "source": str(self.source),
            "checkpoint": str(self.checkpoint),
            "take_over": take_over,
        }
        return launch(DRIVER, json.dumps(given), failpoint)

    def run(self, failpoint: str | None = None) -> Ending:
        return ending(self.start(failpoint), seconds=400)

    def faults(self, batches: int) -> list[str]:
        """Hold the lake against what was fed."""
        if self.kind == "files":
            frame = read_files(self.spark, str(self.place))
        else:
            frame = self.spark.read.format("delta").load(str(self.place))
        found = Counter((row.key, row.number) for row in frame.collect())
        total = batches * PER_BATCH
        first = total - KEYS if self.kind == "merge" else 0
        wanted = Counter((f"k{n % KEYS}", n) for n in range(first, total))
        return [f"{key}: {found[key]}" for key in found | wanted if found[key] != 1]


@pytest.fixture
def lake_of(spark: SparkSession, tmp_path: Path) -> Callable[[str], Lake]:
    return lambda kind: Lake(spark, tmp_path, kind)


@pytest.mark.parametrize("kind", PHASES)
def test_a_lake_holds_every_row_once_though_the_driver_dies_in_every_phase(
    lake_of: Callable[[str], Lake], kind: str
) -> None:
    lake = lake_of(kind)
    batches = 2 * len(PHASES[kind]) + 2
    lake.feed(batches)

    for phase in PHASES[kind]:
        died = lake.run(phase)
        assert died.was_killed, f"{phase}: {died.log}"
    last = lake.run()

    assert last.status == 0, last.log
    assert not lake.faults(batches)


@pytest.mark.parametrize(
    ("kind", "place"),
    [("merge", "delta.rows-flushed:2"), ("files", "files.rows-flushed:2")],
)
def test_a_driver_that_wakes_up_after_another_took_over_writes_nothing(
    lake_of: Callable[[str], Lake], kind: str, place: str
) -> None:
    lake = lake_of(kind)
    lake.feed(5)
    zombie = lake.start(f"{place}:stop")
    jvm: Any = wait_until(
        "the JVM is stopped", lambda: stopped_jvm(zombie), seconds=400
    )

    successor = ending(lake.start(take_over=True), seconds=400)
    jvm.resume()
    loser = ending(zombie, seconds=400)

    assert successor.status == 0, successor.log
    # What it had begun is held by then, and the checkpoint's log has gone on as well.
    assert loser.told["slug"] == "checkpoint-in-use", loser.log
    assert not lake.faults(5)
