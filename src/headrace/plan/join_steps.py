"""The steps of a join: the operator, and what a stream sees of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from headrace.joins.interval import Between
from headrace.plan.steps import OneInput, Read, Stateful, Step
from headrace.windows.lengths import microseconds

# A result may be as old as the last moment that waits; a step behind it looks at the
# moments before the watermark alone.
MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True)
class Sides:
    """What belongs together: the key's columns, and what the right ones are called.

    Args:
        on: The columns of the key, those of the left side first.
        renamed: What each column of the right is called in the result.
        merged: The columns of the key that have one name on both sides.
    """

    on: tuple[tuple[str, str], ...]
    renamed: dict[str, str]
    merged: frozenset[str]


@dataclass(frozen=True, eq=False)
class AnyJoin(Stateful):
    """Join a stream with another, or with a table.

    `input` is the left side; `columns`, `key` and `time` are those of the results.
    """

    other: Step
    sides: Sides
    kind: str
    late: str

    verb: ClassVar[str] = "join"

    @property
    def inputs(self) -> tuple[Step, ...]:
        """The left side and the right."""
        return (self.input, self.other)

    @property
    def late_events(self) -> str:
        """Say what becomes of late rows."""
        return "dropped and counted" if self.late == "drop" else "go to the side output"

    @property
    def has_late_events(self) -> bool:
        """Whether late rows go on as streams of their own."""
        return self.late != "drop"

    @property
    def delay(self) -> timedelta | None:
        """How much later than its time a result may come; None if it comes at once."""
        return behind(self.input)


@dataclass(frozen=True, eq=False)
class Join(AnyJoin):
    """Join two streams; its rows are results and late rows alike."""

    within: Between

    @property
    def summary(self) -> str:
        """Name kind, key and interval."""
        on = ", ".join(a if a == b else f"{a} = {b}" for a, b in self.sides.on)
        return f'"{self.name}", {self.kind} on {on}, {self.within}'

    @property
    def state(self) -> str:
        """Say what is kept for how long."""
        return (
            "the rows of both sides until the watermark has passed the last moment "
            "at which a partner could come"
        )

    @property
    def delay(self) -> timedelta:
        """How much later than its time a result may come, beyond the watermark."""
        within = self.within
        waits = -within.least if self.kind == "right" else within.most
        before = behind(self.input, self.other) or timedelta(0)
        return before + max(waits, timedelta(0)) + MOMENT

    @property
    def terms(self) -> dict[str, Any]:
        """What the operator has to know."""
        later = behind(self.input, self.other)
        return {
            "name": self.name,
            "kind": self.kind,
            "left": {"key": [a for a, _ in self.sides.on], "time": self.input.time},
            "right": {"key": [b for _, b in self.sides.on], "time": self.other.time},
            "from_us": microseconds(self.within.least),
            "to_us": microseconds(self.within.most),
            "keep_late": self.has_late_events,
            "behind_us": None if later is None else microseconds(later),
        }


@dataclass(frozen=True, eq=False)
class Joined(OneInput):
    """The results of a join, row by row; with a table, `input` is a `LookUp`."""

    input: AnyJoin

    verb: ClassVar[str] = "joined"


@dataclass(frozen=True, eq=False)
class LateRows(OneInput):
    """The rows of one side that came too late for a join, row by row."""

    input: AnyJoin
    is_left: bool

    verb: ClassVar[str] = "late"

    @property
    def summary(self) -> str:
        """Name the side and the join."""
        side = "left" if self.is_left else "right"
        return f'{side} rows too late for "{self.input.name}"'


def behind(*steps: Step) -> timedelta | None:
    """Say by how much rows may come later than their time says.

    None where they come at once: then what is late is known by the watermark as it is.
    Zero where they come at once, and the watermark is that of their own batch.
    """
    found = [delay for step in steps if (delay := _behind(step)) is not None]
    return max(found, default=None)


def _behind(step: Step) -> timedelta | None:
    if isinstance(step, AnyJoin):
        return step.delay
    if isinstance(step, Read):
        return timedelta(0) if step.watermark.peeks else None
    return behind(*step.inputs) if step.inputs else None


def late_of_join(step: Step) -> LateRows | None:
    """Give the late rows of a join that reach a step, if there are any."""
    if isinstance(step, LateRows):
        return step
    found = (late_of_join(earlier) for earlier in step.inputs)
    return next((late for late in found if late is not None), None)
