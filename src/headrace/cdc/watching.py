"""Look after a capture, so that what goes wrong with it is said and never passed over.

A connector can wait for ever, or go on behind a gap, without failing. So the database
itself is looked at, and compared with what it was when the capture was whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from headrace.cdc.connect import ConnectCluster, ConnectorState
from headrace.cdc.notes import Notes
from headrace.cdc.place import Capture
from headrace.cdc.snapshots import Progress, read_progress
from headrace.cdc.systems import system_of
from headrace.errors import CaptureError

PASSING = frozenset(
    {
        "capture-blocked",
        "capture-log-unreadable",
        "capture-stalled",
        "connect-unreachable",
        "database-unreachable",
    }
)
"""Problems that the restart of a server or a lock brings, and takes away again."""

PATIENCE = timedelta(minutes=2)


def require_capture(
    cluster: ConnectCluster, capture: Capture
) -> tuple[dict[str, str], Notes]:
    """Give the connector's settings and our notes in them.

    Raises:
        CaptureError: [capture-missing] there is no such capture, or it is not ours;
            [connect-unreachable].
    """
    config = cluster.config(capture.connector)
    notes = None if config is None else Notes.read(config)
    if config is None or notes is None:
        raise CaptureError(
            "capture-missing",
            f'database "{capture.database}" is not captured',
            detail=f'Kafka Connect has no connector "{capture.connector}".'
            if config is None
            else f'connector "{capture.connector}" was not made by headrace.',
            hint=f"`headrace cdc add {capture.database} --tables ...` captures it.",
        )
    return config, notes


def problems(capture: Capture) -> list[CaptureError]:
    """Say what is wrong with a capture, the worst first; nothing is raised."""
    try:
        cluster = ConnectCluster(capture.connect)
        config, notes = require_capture(cluster, capture)
        state = cluster.state(capture.connector)
        progress = read_progress(capture)
        found = system_of(capture).problems(
            capture, config, notes, lambda: cluster.offset(capture.connector)
        )
        found += _snapshot_problems(capture, notes, progress)
    except CaptureError as error:
        return [error]
    return found + _state_problems(capture, state)


def check(capture: Capture) -> None:
    """Raise what is wrong with a capture, if it will not pass by itself.

    Raises:
        CaptureError: [capture-missing], [capture-failed], [capture-slot-missing],
            [capture-slot-lost], [capture-slot-moved], [capture-publication-missing],
            [capture-binlog-lost], [capture-unsupported],
            [capture-table-missing], [capture-key-missing],
            [capture-permission-denied], [capture-rows-hidden],
            [capture-snapshot-repeated], [capture-unfinished],
            [capture-connector-outdated].
    """
    for problem in problems(capture):
        if problem.slug not in PASSING:
            raise problem


class Watch:
    """Looks at a capture again and again, with patience for what may pass.

    Args:
        capture: The capture.
        patience: How long a server may be away before that is raised too.
        clock: Gives the time in seconds.

    Example:
        ``watch.check()`` every ten seconds, while a pipeline runs.
    """

    def __init__(
        self,
        capture: Capture,
        patience: timedelta = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._capture, self._patience, self._clock = capture, patience, clock
        self._since: dict[str, float] = {}

    def check(self) -> None:
        """Raise what is wrong, at once or after it has lasted.

        Raises:
            CaptureError: As `check` does, and after the patience also
                [connect-unreachable], [database-unreachable], [capture-stalled],
                [capture-blocked], [capture-log-unreadable].
        """
        self.judge(problems(self._capture))

    def judge(self, found: list[CaptureError]) -> None:
        """Raise one of the problems that one look has found, if it is time.

        Raises:
            CaptureError: One of them.
        """
        now = self._clock()
        self._since = {p.slug: self._since.get(p.slug, now) for p in found}
        for problem in found:
            lasting = now - self._since[problem.slug]
            if problem.slug not in PASSING or lasting > self._patience.total_seconds():
                raise problem


def _snapshot_problems(
    capture: Capture, notes: Notes, progress: Progress
) -> list[CaptureError]:
    if notes.unfinished is not None:
        return [
            CaptureError(
                "capture-unfinished",
                f'the new snapshot of "{capture.database}" is not finished',
                detail="rows that were deleted meanwhile are still in the log.",
                hint=f"`headrace cdc resnapshot {capture.database}` finishes it; if "
                "it runs, wait for it.",
            )
        ]
    if progress.repeated:
        return [
            CaptureError(
                "capture-snapshot-repeated",
                f'the snapshot of "{capture.database}" was broken off and begun again',
                detail="rows of the first attempt that were deleted before the second "
                "are still in the log.",
                hint=f"`headrace cdc resnapshot {capture.database}` mends it.",
            )
        ]
    return []


def _state_problems(
    capture: Capture, state: ConnectorState | None
) -> list[CaptureError]:
    if state is not None and state.is_failed:
        return [
            CaptureError(
                "capture-failed",
                f'the capture of "{capture.database}" has failed',
                detail=state.cause,
                hint=f"mend the cause, then `headrace cdc resume {capture.database}`.",
            )
        ]
    waits = state is not None and state.connector in {"PAUSED", "STOPPED"}
    if waits or (state is not None and state.is_running):
        return []
    return [
        CaptureError(
            "capture-stalled",
            f'the capture of "{capture.database}" does not run',
            detail=f"its task is {_task(state)}.",
            hint="`headrace logs connect` shows what it waits for.",
        )
    ]


def _task(state: ConnectorState | None) -> str:
    if state is None:
        return "gone"
    return "not started" if state.task is None else state.task.lower()
