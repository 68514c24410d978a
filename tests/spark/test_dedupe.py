"""Dedupe in real streaming queries, beside a model in plain Python."""

from __future__ import annotations

import inspect
import itertools
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from support.cases import dedupe_trial
from support.cases.dedupe_trial import MICROSECOND, Arrival, Deduping, Trial, model

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def trial(spark: SparkSession, tmp_path: Path) -> Trial:
    return Trial(spark, tmp_path)


@pytest.fixture(scope="module")
def only_batches_with_data(
    spark: SparkSession,
) -> Iterator[Callable[[bool], None]]:
    """Say whether Spark may run a batch only because the watermark has moved."""
    name = "spark.sql.streaming.noDataMicroBatches.enabled"

    def say(only: bool) -> None:
        spark.conf.set(name, str(not only).lower())

    yield say
    spark.conf.unset(name)


def at(number: int, id: str | None, minutes: float | None) -> Arrival:
    return Arrival(number, id, None if minutes is None else minutes * MINUTE)


def test_a_late_event_passes_unless_its_id_is_known(trial: Trial) -> None:
    trial.add([at(0, "a", 0), at(1, "clock", 65)])
    trial.add([at(2, "a", 5), at(3, "late", 5), at(4, "clock", 300)])
    trial.run()

    assert trial.numbers == {0, 1, 3, 4}
    dropped = [
        p["stateOperators"][0]["numRowsDroppedByWatermark"] for p in trial.progress
    ]
    assert not any(dropped)
    assert trial.counted("out", "duplicates") == 1


def test_a_duplicate_that_comes_after_its_id_was_forgotten_passes(
    trial: Trial,
) -> None:
    trial.add([at(0, "a", 0), at(1, "clock", 71)])
    trial.add([at(2, "a", 0)])
    trial.run()

    assert trial.numbers == {0, 1, 2}


def test_an_id_is_still_known_at_the_last_watermark_that_remembers_it(
    trial: Trial,
) -> None:
    trial.add([at(0, "a", 0), at(1, "clock", 70)])
    trial.add([at(2, "a", 0)])
    trial.run()

    assert trial.numbers == {0, 1}


def test_a_late_event_is_remembered_from_its_arrival_on(trial: Trial) -> None:
    trial.add([at(0, "clock", 600)])
    trial.add([at(1, "late", 0), at(2, "clock", 640)])
    trial.add([at(3, "late", 1)])
    trial.run()

    assert trial.numbers == {0, 1}


def test_the_state_is_cleared_when_the_watermark_has_passed(trial: Trial) -> None:
    trial.add([at(n, f"id-{n}", n) for n in range(20)])
    trial.add([at(20, "clock", 500)])
    trial.run()

    assert trial.known_ids[0] == 20
    assert trial.known_ids[-1] == 1


def test_ids_are_forgotten_in_turn_and_not_all_in_one_batch(trial: Trial) -> None:
    trial.add([at(n, f"id-{n}", n / 100) for n in range(200)])
    for passed in range(60, 220, 20):
        trial.add([at(200 + passed, "clock", passed)])
        trial.run()

    known = trial.known_ids
    assert known[0] == 200
    # What is left is the clock's own.
    assert known[-1] < 5
    assert max(before - after for before, after in itertools.pairwise(known)) < 120


def test_the_earliest_of_a_batch_is_the_first(trial: Trial) -> None:
    same = timedelta(minutes=3)
    trial.add(
        [
            at(0, "a", 5),
            at(1, "a", 4),
            Arrival(2, "b", same, partition=1),
            Arrival(4, "b", same, partition=0),
            Arrival(3, "b", same, partition=0),
        ]
    )
    trial.run()

    assert trial.numbers == {1, 3}


def test_what_comes_in_goes_out_or_is_counted(trial: Trial) -> None:
    trial.add([at(0, "a", 0), at(1, "a", 1), at(2, None, 2), at(3, None, None)])
    trial.add([at(4, "a", 3), at(5, None, None)])
    trial.run()

    counts = [trial.counted("out", n) for n in ("out", "duplicates", "dead_letters")]
    assert counts == [2, 2, 2]
    assert trial.counted("in", "in") == sum(counts)


def test_dead_letters_and_events_without_an_id_pass_without_state(
    trial: Trial,
) -> None:
    trial.add([at(n, None, None) for n in range(200)])
    trial.add([at(n, None, 0) for n in range(200, 400)])
    trial.run()

    assert len(trial.rows) == 400
    assert {row["_dead"]["reason"] for row in trial.rows[:200]} == {"json-malformed"}
    assert trial.known_ids[-1] == 0
    # Neither kind is heaped on one task.
    for kind in trial.rows[:200], trial.rows[200:]:
        assert {row["task"] for row in kind} == {0, 1, 2, 3}


def test_rows_come_out_as_they_went_in(trial: Trial) -> None:
    trial.add([Arrival(7, "é\x00", timedelta(microseconds=1), partition=3)])
    trial.run()

    (row,) = trial.rows
    origin = {"topic": "t", "partition": 3, "offset": 7, "timestamp": None}
    assert row["_origin"].asDict() == origin
    assert (row["number"], row["id"], row["at"].microsecond) == (7, "é\x00", 1)


@pytest.mark.parametrize(
    ("id_type", "one", "other"),
    [
        ("bigint", "1", "2"),
        ("boolean", "true", "false"),
        ("decimal(10,2)", "1.5", "1.25"),
        ("date", "2026-01-01", "2026-01-02"),
    ],
)
def test_an_id_keeps_its_type(trial: Trial, id_type: str, one: Any, other: Any) -> None:
    trial = replace(trial, id_type=id_type)
    trial.add([at(0, one, 0), at(1, other, 1), at(2, one, 2)])
    trial.run()

    assert trial.numbers == {0, 1}


def test_under_another_name_the_step_begins_without_ids(trial: Trial) -> None:
    trial.add([at(0, "a", 0)])
    trial.run()
    trial.add([at(1, "a", 1)])
    renamed = replace(trial, step=Deduping("renamed"))
    renamed.run()

    assert renamed.numbers == {0, 1}


def test_a_time_longer_than_numbers_reach_is_for_ever(trial: Trial) -> None:
    trial = replace(trial, step=Deduping(within=timedelta.max))
    trial.add([at(0, "a", 0), at(1, "b", 60 * 24 * 36500)])
    trial.add([at(2, "a", 60 * 24 * 36500)])
    trial.run()

    assert trial.numbers == {0, 1}
    assert trial.known_ids[-1] == 2


# The clock of each batch; the watermark of the next one is ten minutes behind it.
CLOCKS = [minutes * MINUTE for minutes in (0, 45, 100, 130, 300)]
WATERMARKS = [clock - 10 * MINUTE for clock in CLOCKS]
EDGES = [micros * MICROSECOND for micros in (0, 0, 0, -1, 1, -999, -1000, 1000, 1001)]
STEPS = [minutes * MINUTE for minutes in (0, 0, 5, -5, 60, 60, -60, 61, 120)]


def case(chance: random.Random, name: str | None) -> list[tuple[int, Arrival]]:
    """Give an id's events, each with its batch, at the edges of what is remembered."""
    start = chance.choice(WATERMARKS) - chance.choice([0, 0, 1, 2]) * HOUR
    found = []
    for _ in range(chance.randint(2, 6)):
        batch = chance.randrange(len(CLOCKS))
        at = start + chance.choice(STEPS) + chance.choice(EDGES)
        arrival = Arrival(0, name, min(at, CLOCKS[batch]), chance.randrange(3))
        found.append((batch, arrival))
    return found


def history(seed: int) -> list[list[Arrival]]:
    """Give batches in which many cases ride side by side, each on an id of its own."""
    chance = random.Random(seed)  # noqa: S311
    batches = [[Arrival(0, "clock", clock)] for clock in CLOCKS]
    for number in range(400):
        for batch, arrival in case(chance, f"case-{number}" if number % 20 else None):
            batches[batch].append(arrival)
            if chance.random() < 0.02:
                batches[batch].append(Arrival(0, None, None))
    numbers = itertools.count()
    for arrivals in batches:
        chance.shuffle(arrivals)
        arrivals[:] = [replace(each, number=next(numbers)) for each in arrivals]
    return batches


# What the step could do differently, in the model's own words.
MUTATIONS = {
    "less than, not at most, within apart": ("<= within", "< within"),
    "only later events are repetitions": (
        "abs(at - arrival.micros)",
        "arrival.micros - at",
    ),
    "forgotten when the watermark arrives": ("* 1000 <= until", "* 1000 < until"),
    "never forgotten": ("if watermark * 1000 <= until", "if True"),
    "forgotten without regard to arrival": (
        "max(arrival.micros, watermark * 1000)",
        "arrival.micros",
    ),
    "in order of arrival": ("(a.micros, a.partition, a.number)", "a.number"),
    "without regard to the partition": ("a.partition, ", ""),
    "one event without an id": ("if arrival.id is None", "if False"),
    "watermark without delay": ("// 1000 - delay", "// 1000"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_history_tells_the_step_from_one_that_errs(name: str) -> None:
    right, wrong = MUTATIONS[name]
    source = inspect.getsource(model)
    assert right in source
    erring = dict(vars(dedupe_trial))
    exec(source.replace(right, wrong), erring)  # noqa: S102
    batches, out_of_order = history(0), 10 * MINUTE

    found = erring["model"](batches, Deduping(), out_of_order)

    assert found != model(batches, Deduping(), out_of_order)


@settings(max_examples=4, deadline=None, derandomize=True, database=None)
@given(st.integers(0), st.integers(0, 4), st.integers(0, 4), st.booleans())
def test_spark_agrees_with_the_model_wherever_it_dies(
    spark: SparkSession,
    only_batches_with_data: Callable[[bool], None],
    seed: int,
    restart: int,
    crash: int,
    only_data: bool,
) -> None:
    only_batches_with_data(only_data)
    batches = history(seed)
    with tempfile.TemporaryDirectory() as home:
        trial = Trial(spark, Path(home), buckets=3)
        for number, batch in enumerate(batches):
            trial.add(batch)
            if number in (restart, crash):
                trial.run()
            if number == crash:
                trial.crash()
        trial.run()

        assert trial.numbers == model(batches, trial.step, trial.out_of_order)
