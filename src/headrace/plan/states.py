"""Whose state is whose: the steps behind the operators that Spark reports."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from headrace.plan.native_joins import native_joins
from headrace.plan.routes import by_trunk
from headrace.plan.steps import Output, Stateful, Step, Transform, walk


def state_owners(outputs: Sequence[Output]) -> list[str]:
    """Give the names of the steps with state, in the order of Spark's operators.

    Spark reports its stateful operators from the sinks towards the sources, and what
    comes together from left to right. What several steps follow is there once.
    """
    seen: set[Step] = set()
    native = native_joins(outputs)
    # What Spark itself keeps the state of is run for each that follows it.
    apart = {
        step
        for output in outputs
        for step in walk(output.step)
        if any(_is_sparks(earlier, native) for earlier in walk(step))
    }
    return [name for trunk in by_trunk(outputs) for name in _owners(trunk, apart, seen)]


def _owners(step: Step, apart: Collection[Step], seen: set[Step]) -> list[str]:
    if step in seen:
        return []
    own: list[str] = []
    if isinstance(step, Stateful):
        own = [step.name] * (step.operators if step.keeps_state else 0)
        if step not in apart:
            seen.add(step)
    # The events and the dead letters of a transform's input are read apart.
    inputs = step.inputs * 2 if isinstance(step, Transform) else step.inputs
    return own + [name for one in inputs for name in _owners(one, apart, seen)]


def _is_sparks(step: Step, native: Collection[Step]) -> bool:
    """Tell whether it is an operator of Spark's own that keeps the state of a step."""
    if not isinstance(step, Stateful) or not step.keeps_state:
        return False
    return step in native or step.engine == "native"
