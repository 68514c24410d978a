"""Check when a window shall fire, against what its kind can do."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import StepError
from headrace.windows.firing import HOT_KEYS, LATE, PANES, After, Firing, Refire
from headrace.windows.kinds import (
    Assigned,
    Counted,
    Everything,
    Hopping,
    Kind,
    Sliding,
    Staggered,
    Tumbling,
)


def require_firing(
    name: str, kind: Kind, firing: Firing, hot_keys: str | None, where: str
) -> None:
    """Refuse what no window, or none of this kind, can do.

    Raises:
        StepError: [option-unknown] a value does not exist;
            [window-never-fires] it would tell nothing, ever;
            [firing-unsupported] the kind cannot fire so;
            [hot-keys-unsupported] its keys cannot be spread.
    """
    _require_known(firing, hot_keys, where)
    if isinstance(kind, Everything) and firing.early is None:
        raise StepError(
            "window-never-fires",
            f'window "{name}" never ends, and so would never fire',
            hint="say when to tell what is known: early=after(events=100), "
            "early=after(time=minutes(1)).",
            where=where,
        )
    reason = _why_not(kind, firing)
    if reason is not None:
        fact, hint = reason
        raise StepError(
            "firing-unsupported",
            f'window "{name}" of kind {kind.name} {fact}',
            hint=hint,
            where=where,
        )
    if hot_keys is not None:
        _require_spreadable(name, kind, firing, where)


def _require_known(firing: Firing, hot_keys: str | None, where: str) -> None:
    early, late = firing.early, firing.late
    known = {
        "panes": (firing.panes in PANES, _shown(PANES)),
        "late": (
            late in LATE or isinstance(late, Refire),
            f"{_shown(LATE)}, refire(minutes(10))",
        ),
        "early": (
            early is None or isinstance(early, After),
            "after(events=100), after(time=minutes(1))",
        ),
        "hot_keys": (hot_keys is None or hot_keys in HOT_KEYS, _shown(HOT_KEYS)),
    }
    given = {"panes": firing.panes, "late": late, "early": early, "hot_keys": hot_keys}
    for option, (is_known, choices) in known.items():
        if not is_known:
            raise StepError(
                "option-unknown",
                f"there is no {option}={given[option]!r}",
                detail=f"{option} is an option of windows; an aggregate cannot be "
                "called so.",
                hint=f"choose from {choices}.",
                where=where,
            )


def _shown(words: Sequence[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _why_not(kind: Kind, firing: Firing) -> tuple[str, str] | None:
    timed = firing.early is not None and firing.early.time is not None
    if isinstance(kind, Sliding) and firing.panes == "discarding":
        return (
            "cannot discard: each event has one window, and events are in many",
            'use panes="accumulating", or "retracting".',
        )
    if isinstance(kind, Sliding) and timed:
        return (
            "cannot fire early after a time: its windows end with their event",
            "use early=after(events=1).",
        )
    if isinstance(kind, Counted) and timed:
        return (
            "cannot fire early after a time: it looks at none",
            "use early=after(events=...).",
        )
    if isinstance(kind, Counted) and isinstance(firing.late, Refire):
        return (
            "cannot be corrected: no event is late for it",
            "leave out late=refire(...).",
        )
    return None


def _require_spreadable(name: str, kind: Kind, firing: Firing, where: str) -> None:
    if not isinstance(kind, Tumbling | Staggered | Hopping | Assigned):
        why = f"windows of kind {kind.name} look at the events of a key in order"
    elif firing.early is not None or isinstance(firing.late, Refire):
        why = "a part of a key's events cannot fire before or after the others"
    else:
        return
    raise StepError(
        "hot-keys-unsupported",
        f'window "{name}" cannot spread its keys',
        detail=f"{why}.",
        hint='leave out hot_keys="spread"; it is for tumbling, hopping and assigned '
        "windows that fire once.",
        where=where,
    )
