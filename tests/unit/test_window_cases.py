"""What holds of the model on any stream, and that the streams find what is wrong."""

from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import models
from support.cases.window_cases import KINDS, History, histories, seeded, step_of
from support.models.window_model import Batch, Outcome, Pane, Windowing, model

MODELS = Path(models.__file__).parent
ANY = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def all_panes(outcomes: list[Outcome]) -> list[Pane]:
    return list(chain.from_iterable(outcome.panes for outcome in outcomes))


@ANY
@given(histories())
def test_every_event_is_in_a_window_or_late(history: History) -> None:
    batches = history.batches(0)
    for (_, events), outcome in zip(batches, model(history.step, batches), strict=True):
        assert outcome.added + len(outcome.late) == len(events)


@ANY
@given(histories(), st.randoms(use_true_random=False))
def test_batches_without_rows_change_nothing(
    history: History, chance: random.Random
) -> None:
    batches = history.batches(0)
    more: list[Batch] = []
    for watermark, events in batches:
        more += [(watermark, [])] * chance.randint(0, 2)
        more.append((watermark, events))

    assert all_panes(model(history.step, more)) == all_panes(
        model(history.step, batches)
    )


@ANY
@given(histories(), st.randoms(use_true_random=False))
def test_the_order_of_a_batchs_rows_changes_nothing(
    history: History, chance: random.Random
) -> None:
    batches = history.batches(0)
    shuffled = [
        (watermark, chance.sample(events, len(events))) for watermark, events in batches
    ]

    assert model(history.step, shuffled) == model(history.step, batches)


@ANY
@given(histories())
def test_a_retraction_repeats_the_pane_that_stood(history: History) -> None:
    standing: dict[str, Pane] = {}
    for pane in all_panes(model(history.step, history.batches(0))):
        if pane.is_retraction:
            stood = standing.pop(pane.place)
            assert (pane.start, pane.end, pane.values) == (
                stood.start,
                stood.end,
                stood.values,
            )
            assert pane.pane_number == stood.pane_number
        else:
            retracts = history.step.panes == "retracting"
            assert not (retracts and pane.place in standing)
            if history.step.panes != "discarding":
                standing[pane.place] = pane


@ANY
@given(histories(["tumbling", "hopping", "assigned", "sessions"]))
def test_discarding_panes_add_up_to_the_accumulating_ones(history: History) -> None:
    step = replace(history.step, having=None, aggregates=("count",))
    last: dict[str, int] = {}
    accumulating = replace(step, panes="accumulating")
    for pane in all_panes(model(accumulating, history.batches(0))):
        if pane.is_retraction:
            del last[pane.place]
        else:
            last[pane.place] = pane.values[0]
    added: Counter[str] = Counter()
    discarding = replace(step, panes="discarding")
    for pane in all_panes(model(discarding, history.batches(0))):
        added[pane.place] += pane.values[0]

    assert sum(added.values()) == sum(last.values())


@ANY
@given(histories(["tumbling", "hopping", "assigned"]))
def test_the_last_pane_holds_all_events_that_were_added(history: History) -> None:
    step = replace(history.step, having=None, aggregates=("count",))
    step = replace(step, panes="accumulating", kind="tumbling", size=5_000_000, every=0)
    outcomes = model(step, history.batches(0))
    last = {pane.place: pane.values[0] for pane in all_panes(outcomes)}

    assert sum(last.values()) == sum(outcome.added for outcome in outcomes)


@ANY
@given(histories())
def test_pane_numbers_count_on_and_a_final_pane_is_the_last(history: History) -> None:
    found: defaultdict[str, list[Pane]] = defaultdict(list)
    for pane in all_panes(model(history.step, history.batches(0))):
        if not pane.is_retraction:
            found[pane.place].append(pane)
    for panes in found.values():
        numbers = [pane.pane_number for pane in panes]
        assert numbers == sorted(set(numbers))
        if history.step.kind != "sessions":
            assert numbers == list(range(1, len(panes) + 1))
        assert not any(pane.is_final for pane in panes[:-1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_case_is_the_same_however_many_there_are(kind: str) -> None:
    few, many = seeded(3, kind, 2), seeded(3, kind, 5)

    assert few == many.only([0, 1])


# What the engine could do differently, in the model's own words.
MUTATIONS = {
    "without regard to the topic": ("terms", ", event.topic\n", "\n"),
    "without regard to the partition": ("terms", "event.partition, event.", "event."),
    "by partition and offset alone": ("terms", "event.at or 0, ", ""),
    "fired too late by a microsecond": (
        "bounded",
        "window.end <= self.now:",
        "window.end < self.now:",
    ),
    "expired too late": ("bounded", "allowed <= self.now", "allowed < self.now"),
    "expired without allowance": ("bounded", "end + self.step.allowed <", "end <"),
    "corrected by each event": (
        "bounded",
        "        enough = self",
        "        self._fire(window, 'late') if window.marked else None\n"
        "        enough = self",
    ),
    "early panes on every mark": (
        "bounded",
        "elif window.fresh and self",
        "elif self",
    ),
    "early panes for old marks": ("bounded", "marks[0] < marks[1]", "marks[1] > 0"),
    "marks from 1970 on": ("bounded", "(at - window.start)", "(at - 0)"),
    "due by start": ("bounded", "(window.end, window.start)", "window.start"),
    "windows by their starts": ("bounded", "reversed(starts)", "starts"),
    "touching sessions merge": ("bounded", "start < w.end and", "start <= w.end and"),
    "dead sessions take events": (
        "bounded",
        "        self._forget()\n        for event",
        "        for event",
    ),
    "a late first pane on time": (
        "bounded",
        "window.on_time = window.marked = window.end",
        "window.marked = window.on_time\n        window.marked = window.end",
    ),
    "merged sessions count anew": (
        "bounded",
        "            merged.fresh += window.fresh\n",
        "",
    ),
    "merged numbers of the first": (
        "bounded",
        "max((window.number",
        "min((window.number",
    ),
    "merged panes taken back early": ("bounded", '"late" if merged.closed else ', ""),
    "merged panes left standing": ("bounded", "elif window.standing:", "elif False:"),
    "the same start taken back": (
        "bounded",
        "if window.start == merged.start:",
        "if False:",
    ),
    "whole events lost between windows": (
        "bounded",
        "return bool(living)",
        "return True",
    ),
    "late by rounded up": (
        "bounded",
        "(now - event.at) // 1000",
        "-((event.at - now) // 1000)",
    ),
    "a suppressed pane takes a number": (
        "firing",
        "    if shown:\n        window.number += 1\n",
        "    window.number += 1\n    if shown:\n",
    ),
    "a suppressed pane leaves the old one": (
        "firing",
        'step.panes == "retracting" or not shown',
        'step.panes == "retracting"',
    ),
    "a suppressed pane is no firing": (
        "firing",
        "    given = []\n",
        "    given = []\n    window.fresh = [] if shown else events\n",
    ),
    "retractions of the old kind": ("firing", "pane=kind, is_final", "is_final"),
    "discarding bounds": (
        "firing",
        "for event in window.events if",
        "for event in window.events[-1:] if",
    ),
    "sliding takes its own start": (
        "single",
        "theirs.end > window",
        "theirs.end >= window",
    ),
    "sliding takes later events": ("single", "order(other) <= order(event) and ", ""),
    "sliding corrects itself alone": (
        "single",
        "order(event) <= order(other)",
        "order(event) == order(other)",
    ),
    "sliding corrects too far": ("single", "theirs.end < at +", "theirs.end <= at +"),
    "sliding corrects those ahead": ("single", "= theirs.on_time", "= True"),
    "sliding forgets too soon": ("single", "self.step.size + self.step.allowed", "0"),
    "counted fires early when full": (
        "single",
        "            if len(window.events) ==",
        "            if self.step.early_events == len(window.fresh):\n"
        "                outcome.panes += fire(self.step, window, 'early')\n"
        "            if len(window.events) ==",
    ),
    "counted is never early": ("single", "== len(window.fresh)", "== -1"),
}


def erring(
    monkeypatch: pytest.MonkeyPatch, module: str, right: str, wrong: str
) -> Callable[[Windowing, list[Batch]], list[Outcome]]:
    """Load the model anew, with one piece of it replaced."""
    names = ["terms", "aggregates", "firing", "bounded", "single", ""]
    for name in names:
        stem = f"window_model_{name}".rstrip("_")
        full = f"{models.__name__}.{stem}"
        source = (MODELS / f"{stem}.py").read_text()
        if name == module:
            assert right in source
            source = source.replace(right, wrong)
        made = ModuleType(full)
        monkeypatch.setitem(sys.modules, full, made)
        exec(compile(source, full, "exec"), vars(made))  # noqa: S102
    wrongly: Callable[[Windowing, list[Batch]], list[Outcome]] = made.model
    return wrongly


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_history_tells_the_model_from_one_that_errs(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    wrongly = erring(monkeypatch, *MUTATIONS[name])
    kinds = KINDS[-2:] if MUTATIONS[name][0] == "single" else KINDS
    for seed in range(100):
        for kind in kinds:
            history = seeded(seed, kind, 20)
            for case in range(20):
                batches = history.batches(case)
                # Panes of modules that were loaded apart are equal as texts alone.
                found = repr(wrongly(history.step, batches))
                if found != repr(model(history.step, batches)):
                    return
    pytest.fail("no history shows it")


def test_steps_of_every_sort_come_up() -> None:
    chance = random.Random(0)  # noqa: S311
    found = [step_of(chance, kind) for kind in KINDS for _ in range(100)]

    for kind in KINDS:
        steps = [step for step in found if step.kind == kind]
        triggers = {(bool(s.early_events), bool(s.early_time)) for s in steps}
        assert len({step.panes for step in steps}) == (2 if kind == "sliding" else 3)
        assert len({step.late for step in steps}) == (1 if kind == "counted" else 3)
        assert len({step.having for step in steps}) == 4
        assert len(triggers) == {"everything": 3, "sliding": 2, "counted": 2}.get(
            kind, 4
        )
