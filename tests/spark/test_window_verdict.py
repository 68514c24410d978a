"""The trial of windows finds what differs from the model, and says where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.cases.window_cases import START, History
from support.cases.window_trial import NAME, Given, LateRow, Ran, Trial
from support.cases.window_verdict import Verdict, same
from support.models.window_model import Event, Windowing, model

SECOND = 1_000_000
STEP = Windowing("tumbling", size=10 * SECOND, aggregates=("count", "stddev"))


def event(second: int, amount: int) -> Event:
    return Event(START + second * SECOND, amount, "a", offset=amount)


HISTORY = History(
    STEP,
    clocks=[START // 1000 + 10_000, START // 1000 + 50_000, START // 1000 + 50_000],
    rows=[
        {0: [event(1, 1), event(2, 4), event(12, 2)], 1: [event(3, 3)]},
        {0: [event(4, 5)]},
        {},
    ],
    dead=[1, 0, 0],
    then=["batch"] * 3,
)


def agreeing() -> Verdict:
    """Give the verdict on a query that has given what the model gives."""
    # Neither Spark nor a directory is needed to look at what was given.
    trial = Trial(None, Path(), HISTORY)  # type: ignore[arg-type]
    ran = []
    outcomes = {case: model(STEP, HISTORY.batches(case)) for case in (0, 1)}
    for number, watermark in enumerate(HISTORY.watermarks):
        given = Given()
        for case, found in outcomes.items():
            given.panes[case] += found[number].panes
            for late in found[number].late:
                trial.numbers[case, late.event] = number
                kept = (late.event.at, late.event.amount, late.event.word)
                given.late[case].append(LateRow(number, late.late_by_ms, kept))
        given.dead[number] += HISTORY.dead[number]
        trial.given[number] = given
        batch = [found[number] for found in outcomes.values()]
        out = {
            "panes": sum(len(outcome.panes) for outcome in batch),
            "retractions": 0,
            "on_time": sum(outcome.added for outcome in batch),
            "late": sum(len(outcome.late) for outcome in batch),
            "dead_letters": HISTORY.dead[number],
        }
        out["in"] = out["on_time"] + out["late"] + out["dead_letters"]
        progress = {
            "observedMetrics": {f"window.{NAME}": out},
            "stateOperators": [
                {
                    "numRowsDroppedByWatermark": 0,
                    "numRowsTotal": 0,
                    "customMetrics": {"rocksdbNumInternalColFamiliesKeys": 0},
                }
            ],
        }
        ran.append(Ran(number, watermark, number, progress))
    return Verdict(HISTORY, trial, ran)


def metrics(verdict: Verdict) -> dict[str, dict[str, int]]:
    found: Any = verdict.ran[1].progress["observedMetrics"]
    assert isinstance(found, dict)
    return found


def state(verdict: Verdict) -> dict[str, Any]:
    found: Any = verdict.ran[-1].progress["stateOperators"][0]
    assert isinstance(found, dict)
    return found


def other_value(verdict: Verdict) -> None:
    panes = verdict.trial.given[1].panes[0]
    panes[0] = replace(panes[0], values=(3, panes[0].values[1]))


def other_key(verdict: Verdict) -> None:
    given = verdict.trial.given[1]
    given.panes[7].append(given.panes[0][0])


FAULTS: dict[str, Callable[[Verdict], object]] = {
    "pane 0 of 1, engine has 0": lambda v: v.trial.given[1].panes[0].pop(),
    "engine has 2": lambda v: (
        v.trial.given[1].panes[0].append(v.trial.given[1].panes[1][0])
    ),
    "count: 2, engine 3": other_value,
    "case 0, batch 1, late events": lambda v: v.trial.given[1].late[0].pop(),
    "output of keys that had no event: {7}": other_key,
    "'in': 2}": lambda v: metrics(v)[f"window.{NAME}"].update({"in": 2}),
    "batch 1: metrics": lambda v: metrics(v).clear(),
    "0 dead letters passed, not 1": lambda v: v.trial.given[0].dead.clear(),
    "Spark dropped 1 rows": lambda v: state(v).update(numRowsDroppedByWatermark=1),
    "3 rows of state and 0 of timers are left": lambda v: state(v).update(
        numRowsTotal=3
    ),
    "0 rows of state and 2 of timers are left": lambda v: state(v).update(
        customMetrics={"rocksdbNumInternalColFamiliesKeys": 2}
    ),
    "batches of the history that ran: [0, 2]": lambda v: v.ran.pop(1),  # type: ignore[attr-defined]
}


def test_a_query_that_does_as_the_model_does_agrees() -> None:
    assert agreeing().difference() is None


@pytest.mark.parametrize("said", FAULTS)
def test_what_differs_is_found_and_said(said: str) -> None:
    verdict = agreeing()
    FAULTS[said](verdict)

    assert said in (verdict.difference() or "nothing")


def test_the_message_shows_the_batches_as_they_ran() -> None:
    verdict = agreeing()
    other_value(verdict)

    assert (verdict.difference() or "").splitlines() == [
        "1 of 2 cases differ; case 0, batch 1, pane 0 of 1, engine has 1",
        "  model:  on-time #1 final 0..10 2026-03-01T10:00:00.000000Z "
        "(2, 2.1213203435596424)",
        "  engine: on-time #1 final 0..10 2026-03-01T10:00:00.000000Z "
        "(3, 2.1213203435596424)",
        "  count: 2, engine 3",
        "batches as they ran, in seconds after the start:",
        "  0: watermark 1970: 1=1,a@t/0/1 2=4,a@t/0/4 12=2,a@t/0/2",
        "  1: watermark 10: 4=5,a@t/0/5",
        "  2: watermark 50: -",
    ]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (0.1 + 0.2, 0.3, True),
        (0.1, 0.2, False),
        ([1, None], (1, None), True),
        ([1], [1, 2], False),
        (True, 1, False),
        (None, 0, False),
    ],
)
def test_values_are_the_same_but_for_the_last_digits_of_real_numbers(
    one: Any, other: Any, equal: bool
) -> None:
    assert same(one, other) == equal
