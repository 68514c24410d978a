"""Tell a join of two streams from one with a table, and give each what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from headrace.errors import StepError
from headrace.joins.asking import Asking, asking
from headrace.joins.interval import Between
from headrace.joins.lookup import Lookup, settled
from headrace.plan.join_steps import Joined
from headrace.plan.joins import AskedJoin, join_step
from headrace.plan.lookups import AskedLookup, Kept, lookup_step, require_uncorrected
from headrace.plan.remote_steps import RemoteKept
from headrace.plan.steps import Step
from headrace.remote import RemoteTable


@dataclass(frozen=True)
class AskedAny:
    """What a user asks of a join, whatever its right side is."""

    name: str
    on: str | Mapping[str, str]
    within: Between | timedelta | None
    lookup: Lookup | None
    kind: str | None
    late: str
    prefix: str | None


def any_join(
    left: Step, right: Step | Kept | RemoteTable, asked: AskedAny, where: str
) -> Joined:
    """Give the step that tells the results of a join.

    Raises:
        StepError: [join-option-unfit] an option is for the other kind of right side;
            or what was asked for cannot be: `Stream.join` has the list.
    """
    name, on, late, prefix = asked.name, asked.on, asked.late, asked.prefix
    if isinstance(right, Step):
        if asked.lookup is not None:
            raise _unfit(name, "lookup=", "a stream", "within=minutes(10)", where)
        for side in (left, right):
            require_uncorrected(f'join "{name}"', side, where)
        two = AskedJoin(name, on, asked.within, asked.kind or "inner", late, prefix)
        return join_step(left, right, two, where)
    if asked.within is not None:
        raise _unfit(name, "within=", "a table", "lookup=settled(...)", where)
    is_remote = isinstance(right, RemoteTable)
    lookup = asked.lookup or (asking() if is_remote else settled())
    if isinstance(lookup, Asking) != is_remote:
        what = "a remote table" if is_remote else "a table"
        instead = "lookup=asking(...)" if is_remote else "lookup=settled(...)"
        raise _unfit(name, "such a lookup", what, instead, where)
    kept = RemoteKept(right) if isinstance(right, RemoteTable) else right
    one = AskedLookup(name, on, lookup, asked.kind or "left", late, prefix)
    return lookup_step(left, kept, one, where)


def _unfit(name: str, option: str, side: str, instead: str, where: str) -> StepError:
    return StepError(
        "join-option-unfit",
        f'join "{name}" is given {option}, and its right side is {side}',
        detail="rows of two streams are joined within an interval, an event is "
        "answered by the row of a table; a remote one is asked.",
        hint=f"leave it out; for {side} there is {instead}.",
        where=where,
    )
