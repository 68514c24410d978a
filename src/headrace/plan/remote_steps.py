"""A remote table as a step: what events can be answered from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from headrace.errors import DeliveryError
from headrace.joins.asking import Asking
from headrace.plan.lookup_steps import LookUp
from headrace.plan.steps import Output, Step, walk
from headrace.remote import RemoteTable
from headrace.schema.types import Record


@dataclass(frozen=True, eq=False)
class RemoteRows(Step):
    """The rows of a remote table; nothing of it is read before an event asks."""

    table: RemoteTable

    verb: ClassVar[str] = "remote"

    @property
    def engine(self) -> str:
        """Who asks: executors, by a client of ours."""
        return "operator"

    @property
    def summary(self) -> str:
        """Name the table."""
        return f"{self.table.place.target}, asked by {self.table.key}"


@dataclass(frozen=True)
class RemoteKept:
    """A remote table as a join sees it."""

    table: RemoteTable

    @property
    def step(self) -> RemoteRows:
        """The step that stands for its rows."""
        event = self.table.event
        return RemoteRows(event.record, event.key, None, self.table.where, self.table)

    @property
    def row(self) -> Record:
        """The columns of a row."""
        return self.table.event.record

    @property
    def key(self) -> Sequence[str]:
        """The column by which it is asked."""
        return (self.table.key,)


def remote_tables(output: Output) -> list[RemoteTable]:
    """Give the remote tables that answer events on their way to an output."""
    return [s.table for s in walk(output.step) if isinstance(s, RemoteRows)]


def require_repeatable(output: Output, lanes: int) -> None:
    """Refuse answers that may differ from one attempt to the next.

    Raises:
        DeliveryError: [answers-not-repeatable] the output is written exactly once,
            and nobody has said that a repeated batch may differ; or it would be
            written in parts.
    """
    asked = [
        (step, step.lookup)
        for step in walk(output.step)
        if isinstance(step, LookUp) and isinstance(step.lookup, Asking)
    ]
    if output.delivery != "exactly-once":
        return
    for step, lookup in asked:
        if not lookup.repeatable and lanes == 1:
            continue
        parts = not lookup.repeatable
        raise DeliveryError(
            "answers-not-repeatable",
            f'output "{output.name}" is written exactly once, and join "{step.name}" '
            "may answer differently when a batch is repeated",
            detail=f"of {lanes} lanes one may hold answers that another does not get "
            "any more."
            if parts
            else "what a database holds may change between the two attempts.",
            hint="use one lane."
            if parts
            else "say that it may, lookup=asking(repeatable=False), and read what that "
            "means; or capture the table and join it as one.",
            where=output.where,
        )
