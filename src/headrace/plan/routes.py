"""Routes: how rows come from a trunk, which is evaluated once, to an output.

What only filters, computes or chooses row by row is done on the way. A union that
leads to outputs alone is not evaluated: each of its streams has a route of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.plan.join_steps import Joined, LateRows
from headrace.plan.lookup_steps import MissingRows
from headrace.plan.steps import Output, Select, Step, Union, Where
from headrace.plan.window_steps import LateEvents, Panes

RowByRow = Where | Select | Panes | LateEvents | Joined | LateRows | MissingRows
Path = tuple[RowByRow | Union, ...]


@dataclass(frozen=True)
class Route:
    """The way from a trunk to an output.

    Attributes:
        trunk: The step that is evaluated.
        path: What is done with each of its rows, in order; a union stands where its
            streams come together, and gives them one type.
        output: The output, and its number.
    """

    trunk: Step
    path: Path
    output: Output
    number: int


def by_trunk(outputs: Iterable[Output]) -> dict[Step, list[Route]]:
    """Give the routes of all outputs under the trunk that each begins at."""
    found: dict[Step, list[Route]] = {}
    for number, output in enumerate(outputs):
        for route in _routes(output.step, (), output, number):
            found.setdefault(route.trunk, []).append(route)
    return found


def _routes(step: Step, path: Path, output: Output, number: int) -> list[Route]:
    if isinstance(step, RowByRow):
        return _routes(step.input, (step, *path), output, number)
    if isinstance(step, Union):
        behind = (step, *path)
        return [
            route
            for stream in step.streams
            for route in _routes(stream, behind, output, number)
        ]
    return [Route(step, path, output, number)]
