"""Windows of Spark's own: beside the model in plain Python, and how they are read."""

from __future__ import annotations

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException

from headrace import (
    Pipeline,
    event,
    hopping,
    kafka,
    minutes,
    seconds,
    sinks,
    tumbling,
    watermarks,
)
from headrace._spark import bridge
from headrace.schema.wire import frame
from headrace.testing import Rig
from support.cases.window_cases import plain
from support.cases.window_trial import Step
from support.cases.window_verdict import try_history
from support.fakes.fake_registry import FakeRegistry, registry

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headrace.windows.watermarks import Strategy
    from support.harness.feed import Feed

__all__ = ["registry"]

CASES = 60
START = datetime(2026, 3, 1, 10, tzinfo=UTC)
KAFKA = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "timestamp timestamp"
)
READING = {
    "type": "struct",
    "fields": [
        {"name": "sensor", "type": "string", "nullable": False, "metadata": {}},
        {"name": "at", "type": "timestamp", "nullable": False, "metadata": {}},
    ],
}


@event(key="card", time="made_at")
class Payment:
    card: str
    made_at: datetime


def payment(minute: int, card: str = "a") -> Payment:
    return Payment(card, START + timedelta(minutes=minute))


KINDS = {"fives": tumbling(minutes(5)), "tens": hopping(minutes(10), every=minutes(5))}


def shop(
    *topics: str,
    windows: Sequence[str] = ("fives",),
    watermark: Strategy = watermarks.lagging(seconds(0)),  # noqa: B008 - frozen
) -> Pipeline:
    """Give a pipeline with windows over the union of topics."""
    made = Pipeline("shop")
    first, *others = (
        made.read(kafka(topic, Payment), watermark=watermark) for topic in topics
    )
    payments = first.union(*others) if others else first
    for name in windows:
        told = payments.window(name, KINDS[name], by="card", late="drop", n="count(*)")
        made.write(name, told, sinks.kafka(name))
    return made


def reading(minute: int) -> dict[str, Any]:
    """Give a row of Spark's Kafka source whose value names a schema."""
    at = (START + timedelta(minutes=minute)).isoformat()
    value = frame(1, json.dumps({"sensor": "s", "at": at}).encode())
    return {
        "value": base64.b64encode(value).decode(),
        "topic": "readings",
        "partition": 0,
        "offset": minute,
        "timestamp": at,
    }


def readings(rig: Rig) -> list[int]:
    """Give how many rows each batch of the last run has read from topics."""
    assert rig._query is not None
    return [
        sum(source["numInputRows"] for source in told["sources"] if is_topic(source))
        for told in rig._query.recentProgress
    ]


def is_topic(source: Any) -> bool:
    return not source["description"].startswith("clock of ")


def counts(rig: Rig, name: str) -> list[tuple[int, ...]]:
    """Give in, on time, late and dead letters of each batch of the last run."""
    assert rig._query is not None
    names = ("in", "on_time", "late", "dead_letters")
    return [
        tuple(told["observedMetrics"][f"window.{name}"][field] for field in names)
        for told in rig._query.recentProgress
        if told["observedMetrics"]
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["tumbling", "hopping"])
def test_sparks_own_windows_agree_with_the_model(
    spark: SparkSession, tmp_path: Path, kind: str, seed: int
) -> None:
    history = plain(seed, kind, CASES)

    try_history(spark, tmp_path, history, f"{kind}, seed {seed}", engine="native")


def test_a_topic_is_read_again_only_for_a_batch_with_dead_letters(
    spark: SparkSession,
) -> None:
    with Rig(shop("payments"), spark) as rig:
        rig.feed("payments", payment(0), payment(1), payment(2, "b"))
        assert readings(rig)[0] == 3

        rig.feed("payments", payment(3), b"torn")
        assert readings(rig)[0] == 2 * 2
        assert [letter.offset for letter in rig.dead_letters()] == [4]

        rig.feed("payments", payment(3))
        assert readings(rig)[0] == 1
        assert len(rig.dead_letters()) == 1


@pytest.mark.parametrize(
    "watermark",
    [watermarks.lagging(seconds(0)), watermarks.by_partition(seconds(0))],
    ids=lambda strategy: strategy.kind,
)
def test_every_row_is_on_time_or_late_or_a_dead_letter(
    spark: SparkSession, watermark: Strategy
) -> None:
    made = shop("shop", "web", windows=("fives", "tens"), watermark=watermark)
    with Rig(made, spark) as rig:
        rig.feed("shop", payment(0), payment(12), payment(1, "b"), b"torn")
        rig.feed("web", payment(12), b"{}", b"[]")
        for name in ("fives", "tens"):
            assert counts(rig, name)[0] == (3, 1, 0, 2)

        # Their windows are over, but for one of the second's: 10:05 to 10:15.
        rig.feed("web", payment(4), payment(8), b"torn")
        assert counts(rig, "fives")[0] == (3, 0, 2, 1)
        assert counts(rig, "tens")[0] == (3, 1, 1, 1)
        rig.crash()
        assert counts(rig, "tens")[0] == (3, 1, 1, 1)
        rig.restart()

        rig.advance(minutes(60))
        letters = [(letter.topic, letter.offset) for letter in rig.dead_letters()]
        assert sorted(letters) == [("shop", 3), ("web", 1), ("web", 2), ("web", 5)]
        shown = ("card", "window_start", "n")
        assert sorted(rig.rows("fives", *shown)) == [
            ("a", "2026-03-01T10:00:00.000000Z", 1),
            ("a", "2026-03-01T10:10:00.000000Z", 2),
            ("b", "2026-03-01T10:00:00.000000Z", 1),
        ]
        assert sorted(rig.rows("tens", *shown)) == [
            ("a", "2026-03-01T09:55:00.000000Z", 1),
            ("a", "2026-03-01T10:00:00.000000Z", 1),
            ("a", "2026-03-01T10:05:00.000000Z", 3),
            ("a", "2026-03-01T10:10:00.000000Z", 2),
            ("b", "2026-03-01T09:55:00.000000Z", 1),
            ("b", "2026-03-01T10:00:00.000000Z", 1),
        ]


def test_queries_that_run_at_once_keep_their_dead_letters_apart(
    spark: SparkSession,
) -> None:
    def run(torn: int) -> tuple[list[int], int]:
        with Rig(shop("payments"), spark) as rig:
            for minute in range(0, 12, 3):
                rig.feed("payments", payment(minute), *[b"torn"] * torn)
            return readings(rig), len(rig.dead_letters())

    with ThreadPoolExecutor(2) as pool:
        clean, dirty = pool.map(run, [0, 2])

    assert (clean[0][0], clean[1]) == (1, 0)
    assert (dirty[0][0], dirty[1]) == (2 * 3, 4 * 2)


def test_an_input_that_can_be_read_the_second_time_is_not_lost(
    feed: Feed, registry: FakeRegistry
) -> None:
    feed.schema = KAFKA
    feed.add(reading(0))
    ask = registry.answer

    def learn_when_asked(path: str) -> tuple[int, Any]:
        answered = ask(path)
        if not registry.schemas:
            registry.add("JSON", "{}")
        return answered

    registry.answer = learn_when_asked  # type: ignore[method-assign]

    def counted(rows: DataFrame) -> DataFrame:
        options = {"format": "json-schema", "registry": registry.address}
        read = bridge.decode(rows, json.dumps(READING), options)
        clocked = read.selectExpr("*", "0 as _read").withWatermark("at", "0 seconds")
        size = 300_000_000
        terms = {
            "name": "counts",
            "kind": "tumbling",
            "size_us": size,
            "every_us": size,
            "offset_us": 0,
            "by": ["sensor"],
            "time": "at",
            "panes": "accumulating",
            "names": ["n"],
            "aggregates": ["count(*)"],
            "having": False,
        }
        told = bridge.window(clocked, Step(terms, by=("sensor",), engine="native"))
        return told.selectExpr("_kind", "_pane.n", "_dead.reason")

    with pytest.raises(StreamingQueryException, match="when they were read again"):
        feed.run(counted)
    feed.add(reading(10))
    feed.run(counted)

    assert [row for batch in feed.batches for row in batch] == [(0, 1, None)]
