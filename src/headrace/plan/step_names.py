"""The names of the steps that keep state: what checkpoints know them by."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import StepError
from headrace.plan.steps import Stateful, Step, walk


def require_step_names(ends: Sequence[Step]) -> None:
    """Refuse two steps of one name: their state and metrics would be mistaken."""
    named: dict[str, Stateful] = {}
    for step in (step for end in ends for step in walk(end)):
        if not isinstance(step, Stateful):
            continue
        first = named.setdefault(step.name, step)
        if first is not step:
            raise StepError(
                "step-name-taken",
                f'two steps are called "{step.name}"',
                detail=f"the other one is declared at {first.where}; state is kept "
                "under a step's name.",
                hint="give each a name of its own, or declare the step once and use "
                "its stream twice.",
                where=step.where,
            )
