"""Hold a trial of a window step against the model, and say where they part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from support.cases.window_cases import START, History
from support.cases.window_trial import LateRow, Ran, Trial
from support.models.window_model import Event, Late, Outcome, Pane, Windowing, model
from support.models.window_model_terms import order


def try_history(
    spark: SparkSession,
    home: Path,
    history: History,
    title: str,
    *,
    engine: str = "operator",
) -> None:
    """Run a history and assert that every case gives what the model gives.

    `home` is an empty directory; Spark may write to it for a while after the query has
    ended. `title` begins the message and says how to come to this history again.
    """
    trial = Trial(spark, home, history, engine)
    try:
        ran = trial.run()
    except Exception as error:
        error.add_note(f"{title}\n{written_step(history.step)}")
        raise
    found = Verdict(history, trial, ran).difference()
    assert not found, f"{title}\n{written_step(history.step)}\n{found}"


class Difference(NamedTuple):
    """Where a case first differs, and how many events it has had by then."""

    case: int
    batch: int
    events: int
    text: str


@dataclass
class Verdict:
    history: History
    trial: Trial
    ran: Sequence[Ran]

    def difference(self) -> str | None:
        """Say where the query first did something else than the model."""
        files = [ran.file for ran in self.ran if ran.file is not None]
        if files != list(range(len(self.history.rows))):
            return f"batches of the history that ran: {files}"
        cases = sorted({case for batch in self.history.rows for case in batch})
        expected = {
            case: model(
                self.history.step,
                [(r.watermark, self._rows(r, case)) for r in self.ran],
            )
            for case in cases
        }
        different = [
            found
            for case in cases
            if (found := self._case_difference(case, expected[case]))
        ]
        if different:
            first = min(different, key=lambda found: (found.batch, found.events))
            return (
                f"{len(different)} of {len(cases)} cases differ; "
                f"case {first.case}, batch {first.batch}, {first.text}\n"
                f"{self._written_batches(first.case)}"
            )
        for index, ran in enumerate(self.ran):
            outcomes = [outcomes[index] for outcomes in expected.values()]
            if text := self._count_difference(ran, outcomes):
                return f"batch {ran.id}: {text}"
        return self._state_difference()

    def _rows(self, ran: Ran, case: int) -> list[Event]:
        return [] if ran.file is None else self.history.rows[ran.file].get(case, [])

    def _case_difference(
        self, case: int, outcomes: Sequence[Outcome]
    ) -> Difference | None:
        events = 0
        for ran, outcome in zip(self.ran, outcomes, strict=True):
            events += len(self._rows(ran, case))
            given = self.trial.given[ran.id]
            told, panes = outcome.panes, given.panes.get(case, [])
            if self.history.step.fires_by_window:
                told, panes = sorted(told, key=_window), sorted(panes, key=_window)
            text = first_difference(self.history.step, told, panes)
            if text is None:
                late = [self._late_row(case, late) for late in outcome.late]
                late.sort(key=LateRow.turn)
                expected = [] if self.history.step.late == "drop" else late
                found = given.late.get(case, [])
                if expected != found:
                    text = f"late events\n  model:  {expected}\n  engine: {found}"
            if text:
                return Difference(case, ran.id, events, text)
        return None

    def _late_row(self, case: int, late: Late) -> LateRow:
        event = late.event
        kept = (event.at, event.amount, event.word)
        return LateRow(self.trial.numbers[case, event], late.late_by_ms, kept)

    def _count_difference(self, ran: Ran, outcomes: Sequence[Outcome]) -> str | None:
        given = self.trial.given[ran.id]
        panes = [pane for outcome in outcomes for pane in outcome.panes]
        dead = 0 if ran.file is None else self.history.dead[ran.file]
        expected = {
            "panes": sum(not pane.is_retraction for pane in panes),
            "retractions": sum(pane.is_retraction for pane in panes),
            "on_time": sum(outcome.added for outcome in outcomes),
            "late": sum(len(outcome.late) for outcome in outcomes),
            "dead_letters": dead,
        }
        expected["in"] = expected["on_time"] + expected["late"] + dead
        counted = {name: ran.counted(name) for name in expected}
        if counted != expected:
            return f"metrics\n  model:  {expected}\n  engine: {counted}"
        if given.dead.total() != dead:
            return f"{given.dead.total()} dead letters passed, not {dead}"
        strangers = {*given.panes, *given.late} - {
            case for batch in self.history.rows for case in batch
        }
        if strangers:
            return f"output of keys that had no event: {strangers}"
        dropped = ran.progress["stateOperators"][0]["numRowsDroppedByWatermark"]
        return f"Spark dropped {dropped} rows" if dropped else None

    def _state_difference(self) -> str | None:
        operator = self.ran[-1].progress["stateOperators"][0]
        left = operator["numRowsTotal"]
        # Spark's own rows: those of timers.
        own = operator["customMetrics"]["rocksdbNumInternalColFamiliesKeys"]
        if self.history.step.clears_its_state and (left or own):
            return (
                f"{left} rows of state and {own} of timers are left when the watermark "
                "has passed all"
            )
        return None

    def _written_batches(self, case: int) -> str:
        lines = ["batches as they ran, in seconds after the start:"]
        for ran in self.ran:
            events = sorted(self._rows(ran, case), key=order)
            rows = " ".join(written_event(self.history.step, e) for e in events)
            then = "" if ran.file is None else self.history.then[ran.file]
            mark = f"  then {then}" if then not in {"", "batch"} else ""
            lines.append(
                f"  {ran.id}: watermark {written_time(ran.watermark * 1000)}: "
                f"{rows or '-'}{mark}"
            )
        return "\n".join(lines)


def _window(pane: Pane) -> tuple[int, int]:
    # Where it has no bounds, it has no corrections either.
    return pane.end or 0, pane.start or 0


def first_difference(
    step: Windowing, model_panes: Sequence[Pane], panes: Sequence[Pane]
) -> str | None:
    """Say where the panes of a batch first differ, and which columns do."""
    for index in range(max(len(model_panes), len(panes))):
        expected = model_panes[index] if index < len(model_panes) else None
        found = panes[index] if index < len(panes) else None
        if (
            expected
            and found
            and same(tuple(vars(expected).values()), tuple(vars(found).values()))
        ):
            continue
        lines = [
            f"pane {index} of {len(model_panes)}, engine has {len(panes)}",
            f"  model:  {written_pane(expected)}",
            f"  engine: {written_pane(found)}",
        ]
        if expected and found:
            lines += [
                f"  {name}: {one!r}, engine {other!r}"
                for name, one, other in zip(
                    step.aggregates, expected.values, found.values, strict=True
                )
                if not same(one, other)
            ]
        return "\n".join(lines)
    return None


def same(one: Any, other: Any) -> bool:
    """Tell whether values are equal; real numbers may differ in their last digits."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def written_time(micros: int | None) -> str:
    if micros is None:
        return "none"
    if micros == 0:
        return "1970"
    return f"{(micros - START) / 1_000_000:.6f}".rstrip("0").rstrip(".")


def written_event(step: Windowing, event: Event) -> str:
    """Write an event as time=amount,word@topic/partition/offset."""
    place = f"{event.topic}/{event.partition}/{event.offset}"
    bounds = ""
    if step.kind == "assigned":
        bounds = f"[{written_time(event.begins)},{written_time(event.ends)})"
    return f"{written_time(event.at)}={event.amount},{event.word}@{place}{bounds}"


def written_pane(pane: Pane | None) -> str:
    if pane is None:
        return "none"
    marks = " retraction" * pane.is_retraction + " final" * pane.is_final
    span = f"{written_time(pane.start)}..{written_time(pane.end)}"
    return f"{pane.pane} #{pane.pane_number}{marks} {span} {pane.place} {pane.values}"


def written_step(step: Windowing) -> str:
    """Write a step's fields that are not as they are without saying."""
    shown = [
        f"{field.name}={value!r}"
        for field in fields(step)
        if field.name not in {"kind", "aggregates"}
        and (value := getattr(step, field.name)) != field.default
    ]
    return f"step: {step.kind} {', '.join(shown)}"
