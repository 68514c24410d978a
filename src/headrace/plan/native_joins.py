"""Which joins of two streams Spark itself runs."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.plan.join_steps import Join
from headrace.plan.steps import Output, Stateful, Step, walk
from headrace.plan.window_steps import needs_operator_behind

UNCOUNTED = "which rows have found a partner"


def native_joins(outputs: Iterable[Output]) -> frozenset[Step]:
    """Give the joins for which Spark's own join means exactly the same.

    One that feeds a step with state is not among them: Spark's join holds the
    watermark back for what is behind it, and our steps do so by themselves.
    """
    steps = {step for output in outputs for step in walk(output.step)}
    followed = {
        earlier
        for step in steps
        if isinstance(step, Stateful)
        for side in step.inputs
        for earlier in walk(side)
    }
    joins = {step for step in steps - followed if isinstance(step, Join)}
    return frozenset(join for join in joins if _means_the_same(join))


def _means_the_same(join: Join) -> bool:
    sides = zip(join.inputs, zip(*join.sides.on, strict=True), strict=True)
    return (
        join.kind == "inner"
        and join.late == "drop"
        # Spark forgets rows by their key where the event time is part of it.
        and all(side.time not in key for side, key in sides)
        and not any(
            needs_operator_behind(step) for side in join.inputs for step in walk(side)
        )
    )
