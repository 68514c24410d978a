"""A watermark that knows its own batch is that of all steps of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import StepError
from headrace.plan.join_steps import Join, behind
from headrace.plan.lookup_steps import LookUp
from headrace.plan.steps import Dedupe, Read, Stateful, Step, walk
from headrace.plan.window_steps import Window
from headrace.windows.kinds import Counted


def require_shared_view(ends: Sequence[Step]) -> None:
    """Refuse a step that would take a watermark that peeks for one that does not.

    The least watermark of all sources holds for the pipeline, and where one source is
    silent that is another's. A step behind sources that do not peek judges events by
    the watermark of their own batch, which must then know nothing of it.

    Raises:
        StepError: [peek-not-shared] there is such a step.
    """
    steps = [step for end in ends for step in walk(end)]
    peeking = [s for s in steps if isinstance(s, Read) and s.watermark.peeks]
    if not peeking:
        return
    for step in steps:
        judged = _judged(step)
        if isinstance(step, Stateful) and judged and behind(*judged) is None:
            raise StepError(
                "peek-not-shared",
                f'{step.verb} "{step.name}" is behind sources that do not peek, and '
                f'topic "{peeking[0].topic}" is read by one that does',
                detail="one watermark holds for all of them, and those that do not "
                "peek would call events late which are not.",
                hint="read all of them with by_partition(..., peek=True), or none.",
                where=step.where,
            )


def _judged(step: Step) -> Sequence[Step]:
    """Give the inputs of a step whose events it judges by the watermark."""
    match step:
        case Join():
            return step.inputs
        case Dedupe():
            return (step.input,)
        case Window() if not isinstance(step.kind, Counted):
            return (step.input,)
        case LookUp() if step.lookup.looks_at_time:
            return (step.input,)
    return ()
