"""Windows that a killed driver has left due fire at the next start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from headrace import Pipeline, event, kafka, minutes, seconds, sinks, tumbling
from headrace import watermarks as marks
from headrace.plan.clock import Clocks
from headrace.plan.outgoing import outgoing
from headrace.runtime.coding import json_encoder
from headrace.testing import Rig

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.plan.steps import Read

START = datetime(2026, 3, 1, 10, tzinfo=UTC)


@event(key="card", time="made_at")
class Payment:
    card: str
    made_at: datetime


class Run:
    """Runs of a pipeline over a rig's input, without the rig's clock."""

    def __init__(self, spark: SparkSession, made: Pipeline, home: Path) -> None:
        self.pipeline = made
        self.checkpoint = home / "checkpoint"
        self.rig = Rig(made, spark)
        self.given: dict[int, int] = {}
        self.progress: list[Any] = []

    def until_caught_up(self) -> None:
        """Run to the input's end; `given` holds how many rows each batch gave."""
        outputs = self.pipeline.outputs
        clocks = Clocks(outputs)

        def opened(read: Read) -> DataFrame:
            return clocks.driving(self.rig._open(read), read)

        def keep(rows: DataFrame, batch: int) -> None:
            self.given[batch] = rows.count()

        query = (
            clocks.waking(outgoing(outputs, opened, json_encoder))
            .writeStream.option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
            .foreachBatch(keep)
            .start()
        )
        query.awaitTermination()
        self.progress = query.recentProgress

    def forget_batch(self, number: int) -> None:
        """Leave a batch as a driver leaves it that was killed before it began."""
        for log in ("offsets", "commits"):
            (self.checkpoint / log / f"{number}").unlink()
            (self.checkpoint / log / f".{number}.crc").unlink()
        del self.given[number]


def test_a_window_that_was_due_when_the_driver_died_fires_at_the_start(
    spark: SparkSession, tmp_path: Path
) -> None:
    shop = Pipeline("shop")
    payments = shop.read(
        kafka("payments", Payment), watermark=marks.lagging(seconds(0))
    )
    counts = payments.window("counts", tumbling(minutes(5)), late="drop", n="count(*)")
    shop.write("counts", counts, sinks.kafka("counts"))
    run = Run(spark, shop, tmp_path)
    with run.rig as rig:
        rig.feed(
            "payments", *(Payment("a", START + timedelta(minutes=m)) for m in (0, 7))
        )

        run.until_caught_up()
        assert run.given == {0: 0, 1: 1}
        run.forget_batch(1)
        run.until_caught_up()
        assert run.given == {0: 0, 1: 1}

        run.until_caught_up()
        assert run.given == {0: 0, 1: 1}
        rig.feed("payments", Payment("a", START + timedelta(minutes=11)))
        run.until_caught_up()
        assert run.given == {0: 0, 1: 1, 2: 0, 3: 1}
    names = [source["description"] for source in run.progress[0]["sources"]]
    assert names[1:] == ["waker"]
