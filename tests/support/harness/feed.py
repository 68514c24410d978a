"""Feed a streaming query batch by batch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession


@dataclass
class Feed:
    """A stream over a directory: one file is one micro-batch.

    Every `run` is a new query over the same checkpoint, so a second one is a
    restart: it finds its state in files alone.
    """

    spark: SparkSession
    directory: Path
    schema: str = "k string"
    batches: list[list[tuple[Any, ...]]] = field(default_factory=list)

    def add(self, *rows: dict[str, Any]) -> None:
        source = self.directory / "source"
        source.mkdir(exist_ok=True)
        number = len(list(source.iterdir()))
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        path = source / f"{number}.json"
        path.write_text(lines)
        # Spark takes the oldest file first, and two written at once are of one age.
        os.utime(path, (number, number))

    def run(
        self, step: Callable[[DataFrame], DataFrame], mode: str = "append"
    ) -> Sequence[list[tuple[Any, ...]]]:
        """Run until nothing is left; give what each batch since the start gave."""
        stream = self.spark.readStream.schema(self.schema).option(
            "maxFilesPerTrigger", "1"
        )

        def keep(rows: DataFrame, _: int) -> None:
            self.batches.append(sorted(map(tuple, rows.collect()), key=repr))

        query = (
            step(stream.json(str(self.directory / "source")))
            .writeStream.outputMode(mode)
            .option("checkpointLocation", str(self.directory / "checkpoint"))
            .trigger(availableNow=True)
            .foreachBatch(keep)
            .start()
        )
        query.awaitTermination()
        return self.batches
