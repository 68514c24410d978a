"""Whose state is whose: the steps behind the operators that Spark reports."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.plan.routes import by_trunk
from headrace.plan.steps import Output, Stateful, Step, Transform, walk


def state_owners(outputs: Sequence[Output]) -> list[str]:
    """Give the names of the steps with state, in the order of Spark's operators.

    Spark reports its stateful operators from the sinks towards the sources, and what
    comes together from left to right. What several steps follow is there once, unless
    it is Spark itself that keeps the state.
    """
    seen: set[Step] = set()
    return [name for trunk in by_trunk(outputs) for name in _owners(trunk, seen)]


def _owners(step: Step, seen: set[Step]) -> list[str]:
    if step in seen:
        return []
    own: list[str] = []
    if isinstance(step, Stateful):
        own = [step.name] * (step.operators if step.keeps_state else 0)
        if not any(_is_sparks(earlier) for earlier in walk(step)):
            seen.add(step)
    # The events and the dead letters of a transform's input are read apart.
    inputs = step.inputs * 2 if isinstance(step, Transform) else step.inputs
    return own + [name for earlier in inputs for name in _owners(earlier, seen)]


def _is_sparks(step: Step) -> bool:
    """Tell whether it is an operator of Spark's own that keeps the state of a step."""
    return isinstance(step, Stateful) and step.keeps_state and step.engine == "native"
