"""The model says what scikit-learn says, in Python, and headrace takes its trees."""

from __future__ import annotations

import doctest
import json
import math
import struct
from dataclasses import make_dataclass
from functools import cache
from pathlib import Path

import model
import pytest
import training
from features import Features, features
from hypothesis import given, settings
from hypothesis import strategies as st
from model import Model, reason
from traffic import Traffic
from training import History
from truth import KINDS, Alert, judge

from headrace import BoostedTrees, Pipeline, event, kafka
from support.cases.fraud_world import NOON, a_run

COMMITTED = Path(model.__file__).parent / "model.json"
CALM = Features(1, 900, 0, 1, 0, 0, 900, 0.9, 0, 0)


@cache
def small() -> History:
    return training.history(1, 200, 60, rich=True)


def test_the_score_is_that_of_scikit_learn() -> None:
    classifier = training.fit(small())
    mine = Model.from_json(json.loads(json.dumps(training.written(classifier, "t"))))
    unseen = training.history(2, 200, 60, rich=True)
    theirs = classifier.predict_proba(unseen.told)[:, 1]
    apart = [abs(mine.score(f) - s) for f, s in zip(unseen.told, theirs, strict=True)]

    assert len(mine.trees.trees) == training.TREES
    assert max(apart) < 1e-9


def test_the_same_history_gives_the_same_model() -> None:
    one, other = (training.written(training.fit(small()), "t") for _ in range(2))

    assert json.dumps(one) == json.dumps(other)


@pytest.mark.long
def test_the_committed_model_is_what_training_writes() -> None:
    written = json.loads(json.dumps(training.train(7, "v1")))

    assert written == json.loads(COMMITTED.read_text())


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    threshold=st.floats(2**-100, 2.0**30),
    steps=st.integers(-3, 3),
    half=st.booleans(),
)
def test_a_moved_threshold_parts_doubles_as_rounding_does(
    threshold: float, steps: int, half: bool
) -> None:
    (bits,) = struct.unpack("<i", struct.pack("<f", threshold))
    near, next_one = struct.unpack("<ff", struct.pack("<ii", bits, bits + 1))
    value = (near + next_one) / 2 if half else near
    for _ in range(abs(steps)):
        value = math.nextafter(value, value + steps)
    (rounded,) = struct.unpack("<f", struct.pack("<f", value))

    assert (value <= training.plain(threshold)) == (rounded <= threshold)


def test_whole_numbers_are_compared_with_whole_numbers() -> None:
    trees = json.loads(COMMITTED.read_text())["trees"]
    nodes = list(trees)
    while nodes:
        if isinstance(node := nodes.pop(), list):
            feature, threshold, *below = node
            assert isinstance(threshold, float) == (feature == "times_usual")
            nodes += below


def test_headrace_takes_the_score_in_a_derive() -> None:
    columns = [(name, float) for name in Features._fields]
    scored = event()(make_dataclass("Scored", columns))
    stream = Pipeline("fraud").read(kafka("features", scored))
    told = stream.derive(score=Model.load(COMMITTED).trees, reason=model.REASON)

    assert told.columns[-2:] == ["score", "reason"]


def test_eleven_payments_are_alerted_whatever_the_score() -> None:
    never = Model("t", BoostedTrees([], [-100.0]))

    assert not never.alerts(CALM._replace(payments=10))
    assert never.alerts(CALM._replace(payments=11))


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("velocity", CALM._replace(payments=11, countries=2)),
        ("travel", CALM._replace(payments=10, countries=2, tiny=3)),
        ("drain", CALM._replace(declines=1, tiny=2)),
        ("large", CALM._replace(tiny=2)),
    ],
)
def test_an_alert_says_what_it_takes_a_transaction_for(
    kind: str, told: Features
) -> None:
    assert reason(told) == kind


def test_the_committed_model_finds_the_fraud_of_a_run() -> None:
    traffic, arrivals = a_run()
    committed = Model.load(COMMITTED)
    rows = features(arrivals, traffic.profiles)
    alerts = [
        Alert(t.transaction_id, NOON, reason(f)) for t, f in rows if committed.alerts(f)
    ]
    verdict = judge(traffic.cases, alerts)

    for judged in (verdict.everything, *(verdict.by_kind[kind] for kind in KINDS)):
        assert judged.precision >= 0.9
        assert judged.recall >= 0.9
    assert min(verdict.everything.precision, verdict.everything.recall) >= 0.95


def test_a_history_is_of_no_run_that_somebody_looks_at() -> None:
    seen = {t.transaction_id for _, t in Traffic(1, 200, 60, NOON).arrivals()}

    assert seen.isdisjoint(small().ids)


def test_the_examples_of_training_say_what_happens() -> None:
    tried = doctest.testmod(training)

    assert tried.attempted
    assert not tried.failed
