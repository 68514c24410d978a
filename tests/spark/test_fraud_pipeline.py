"""The fraud pipeline, whole, held against the same features in plain Python."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

import pipeline
import pytest
from accounts import is_good
from features import features
from pipeline import MODEL, fraud
from pyspark.sql import SparkSession
from traffic import Traffic
from transactions import Transaction
from truth import Alert, judge

from headrace.testing import Rig, captured

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
SLICE_MS = 20_000

# Dozens of batches, each planned anew with all seven outputs, take minutes.
pytestmark = [pytest.mark.long, pytest.mark.usefixtures("one_partition")]


@pytest.fixture(scope="module")
def traffic() -> Traffic:
    return Traffic(seed=4, rate=40, seconds=60, start=START)


def by_partition(traffic: Traffic) -> dict[int, list[tuple[int, Transaction]]]:
    """Give the arrivals of two partitions, as cards are dealt to them."""
    lanes: dict[int, list[tuple[int, Transaction]]] = {0: [], 1: []}
    for ms, transaction in traffic.arrivals():
        lanes[crc32(transaction.card.encode()) % 2].append((ms, transaction))
    return lanes


@pytest.fixture(scope="module")
def results(spark: SparkSession, traffic: Traffic) -> dict[str, list[tuple[Any, ...]]]:
    """Run the traffic through the pipeline, in slices, with a crash in between."""
    with Rig(fraud, spark) as rig:
        profiles = [captured("snapshot", p.profile, at=START) for p in traffic.crowd]
        rig.feed("bank.public.profiles", *profiles, recorded_at=START)
        lanes = by_partition(traffic)
        for partition, lane in lanes.items():
            # A partition that nobody has heard of holds no watermark.
            rig.feed("transactions", lane.pop(0)[1], partition=partition)
        for number, begin in enumerate(range(0, 200_000, SLICE_MS)):
            end = begin + SLICE_MS
            for place, change in enumerate(traffic.changes):
                if begin <= change.offset_ms < end:
                    at = START + timedelta(milliseconds=change.offset_ms)
                    row = captured("update", change.profile, position=place + 2, at=at)
                    rig.feed("bank.public.profiles", row, recorded_at=at)
            for partition, lane in lanes.items():
                mine = [t for ms, t in lane if begin <= ms < end]
                if mine:
                    rig.feed("transactions", *mine, partition=partition)
            if number == 1:
                rig.crash()
        rig.advance(timedelta(minutes=6))
        return {
            "scored": rig.rows(
                "scored", "transaction_id", "payments", "spent", "score"
            ),
            "alerts": rig.rows("alerts", "transaction_id", "reason"),
            "late": rig.rows("late", "transaction_id"),
        }


def test_every_transaction_is_scored_once_or_late(
    traffic: Traffic, results: dict[str, list[tuple[Any, ...]]]
) -> None:
    sent = {transaction.transaction_id for _, transaction in traffic.arrivals()}
    told = [row[0] for output in ("scored", "late") for row in results[output]]

    assert sorted(told) == sorted(sent)
    assert len(results["scored"]) > 0.95 * len(sent)


def test_the_score_is_that_of_the_plain_features(
    traffic: Traffic, results: dict[str, list[tuple[Any, ...]]]
) -> None:
    # Which of the late ones are late depends on the slices; nobody else does.
    offline = {person.profile.user_id for person in traffic.crowd[traffic.online :]}
    rows = features(traffic.arrivals(), traffic.profiles)
    wanted = {
        t.transaction_id: (told.payments, told.spent, MODEL.score(told))
        for t, told in rows
        if t.user_id not in offline
    }
    found = {row[0]: row[1:] for row in results["scored"] if row[0] in wanted}

    assert found.keys() == wanted.keys()
    for identity, (payments, spent, score) in wanted.items():
        assert found[identity][:2] == (payments, spent)
        assert found[identity][2] == pytest.approx(score, abs=1e-9)


def test_the_planted_fraud_is_found(
    traffic: Traffic, results: dict[str, list[tuple[Any, ...]]]
) -> None:
    made_at = {t.transaction_id: t.made_at for _, t in traffic.arrivals()}
    alerts = [Alert(i, made_at[i], reason) for i, reason in results["alerts"]]

    assert len(alerts) == len({alert.transaction_id for alert in alerts})
    assert is_good(judge(traffic.cases, alerts))


def test_the_pipeline_is_read_in_one_look() -> None:
    assert len(Path(pipeline.__file__).read_text().splitlines()) < 120
