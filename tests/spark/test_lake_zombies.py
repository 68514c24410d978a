"""A driver that slept while another one went on adds nothing to a lake."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from headrace import sinks
from headrace.errors import DeliveryError
from headrace.sinks import Sink, read_files
from support.harness.handing import Handing
from support.harness.sleeping import SleepingSink
from support.harness.waiting import wait_until

SINKS: dict[str, Callable[[str], Sink]] = {
    "append": sinks.delta,
    "merge": lambda place: sinks.delta(place, mode="merge"),
    "files": sinks.files,
}


@pytest.fixture(params=SINKS)
def handing(request: Any, spark: SparkSession, tmp_path: Path) -> Handing:
    sink = SINKS[request.param](str(tmp_path / "lake"))
    return Handing(spark, tmp_path, sink, columns="id bigint, name string", key="id")


def asleep(handing: Handing) -> SleepingSink:
    is_files = handing.sink.system == "files"
    return SleepingSink(handing, "FilesSink" if is_files else "DeltaSink")


def rows(handing: Handing) -> list[tuple[Any, ...]]:
    place = handing.sink.settings(None).get("place")
    frame = (
        handing.spark.read.format("delta").load(place)
        if place
        else read_files(handing.spark, handing.sink.settings(None)["path"])
    )
    return sorted(map(tuple, frame.collect()))


def test_one_that_slept_before_its_commit_is_told_so(handing: Handing) -> None:
    handing.deliver(0, [(0, "a")])
    zombie = asleep(handing)
    zombie.read_ledger()
    handing.deliver(1, [(1, "b")])
    handing.deliver(2, [(2, "c")])

    with pytest.raises(DeliveryError, match="writer-fenced"):
        zombie.write(1, [(1, "asleep")])
    assert rows(handing) == [(0, "a"), (1, "b"), (2, "c")]


def test_one_of_an_earlier_checkpoint_is_told_so(handing: Handing) -> None:
    handing.deliver(0, [(0, "a")])
    zombie = asleep(handing)
    zombie.read_ledger()
    handing.begin_checkpoint("second")
    handing.deliver(0, [(5, "second")], adopt=["checkpoint"])

    with pytest.raises(DeliveryError, match="writer-fenced"):
        zombie.write(1, [(1, "asleep")])
    assert rows(handing) == [(0, "a"), (5, "second")]


def test_two_drivers_of_one_checkpoint_write_each_batch_once(handing: Handing) -> None:
    with handing.started() as one, handing.started(query="other") as two:
        one.write(0, [(0, "a")])
        two.write(0, [(0, "a")])
        two.write(1, [(1, "b")])
        one.write(1, [(1, "b")])
        one.write(2, [])
        two.write(2, [])
        one.write(3, [(3, "d")])
        two.write(3, [(3, "d")])
        assert two.report()["held_batches"] == 3

    assert rows(handing) == [(0, "a"), (1, "b"), (3, "d")]


def test_one_that_slept_during_its_commit_adds_nothing(
    handing: Handing, tmp_path: Path
) -> None:
    handing.deliver(0, [(0, "a")])
    reached, gate = tmp_path / "reached", tmp_path / "gate"
    os.mkfifo(gate)

    def pass_gate(value: bytes) -> bytes:
        reached.touch()
        if gate.exists():
            gate.read_bytes()
        return value

    slow = sql.udf(pass_gate, "binary", useArrow=False)
    zombie = asleep(handing)
    zombie.read_ledger()
    frame = handing.outgoing([(1, "asleep")], ()).withColumn("value", slow("value"))
    failures: list[BaseException] = []

    def write() -> None:
        try:
            zombie.write_frame(1, frame)
        except DeliveryError as error:
            failures.append(error)

    sleeper = Thread(target=write)
    sleeper.start()
    try:
        wait_until("the rows are asked for", reached.exists, seconds=120)
        handing.deliver(1, [(1, "b")])
    finally:
        opened = os.open(gate, os.O_RDWR)
        gate.unlink()
        os.close(opened)
        sleeper.join(120)

    # Delta may leave out what it holds without a word, or name the other's commit.
    assert {getattr(error, "slug", None) for error in failures} <= {"writer-fenced"}
    assert rows(handing) == [(0, "a"), (1, "b")]
