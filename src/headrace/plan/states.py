"""Whose state is whose: the steps behind the operators that Spark reports."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.plan.routes import by_trunk
from headrace.plan.steps import Output, Stateful, Step, Transform


def state_owners(outputs: Sequence[Output]) -> list[str]:
    """Give the names of the steps with state, in the order of Spark's operators.

    Spark reports its stateful operators from the sinks towards the sources, and what
    comes together from left to right. A step is there as often as it is evaluated.
    """
    return [name for trunk in by_trunk(outputs) for name in _owners(trunk)]


def _owners(step: Step) -> list[str]:
    before = [name for earlier in step.inputs for name in _owners(earlier)]
    if isinstance(step, Stateful) and step.keeps_state:
        return [step.name] * step.operators + before
    # The events and the dead letters of a transform's input are read apart.
    return before * 2 if isinstance(step, Transform) else before
