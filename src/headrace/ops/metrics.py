"""The numbers of a running pipeline, as its batches tell them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from headrace.ops import families as known
from headrace.ops.families import Family, Labels, render

if TYPE_CHECKING:
    from headrace.runtime.progress import BatchProgress

_WHOLE = "triggerExecution"
_STATE = {
    "rows": known.STATE_ROWS,
    "timers": known.STATE_TIMERS,
    "memory_bytes": known.STATE_MEMORY,
    "disk_bytes": known.STATE_DISK,
}
# Present from the start, so that the first one is an increase.
_ZEROS = (
    known.EVENTS_IN,
    known.LATE_EVENTS,
    known.DEAD_LETTERS,
    known.BATCHES,
    known.BATCH_SECONDS,
)


class Metrics:
    """The metrics of one run; every thread may write and read them.

    Args:
        pipeline: The pipeline's name, a label of all of them.
        restarts: How often it was started before, less one.
        clock: Gives the seconds since 1970.
    """

    def __init__(
        self,
        pipeline: str,
        *,
        restarts: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.pipeline = pipeline
        self._clock = clock
        self._lock = threading.Lock()
        self._values: dict[Family, dict[Labels, float]] = {}
        self._ended_at = clock()
        for family in _ZEROS:
            self.put(family, 0)
        self.put(known.RESTARTS, restarts)
        self.put(known.STARTED_AT, self._ended_at)

    def put(self, family: Family, value: float, **labels: str) -> None:
        """Set a value."""
        with self._lock:
            self._values.setdefault(family, {})[tuple(sorted(labels.items()))] = value

    def raise_by(self, family: Family, value: float, **labels: str) -> None:
        """Add to a value."""
        key = tuple(sorted(labels.items()))
        with self._lock:
            before = self._values.setdefault(family, {})
            before[key] = before.get(key, 0) + value

    def add(self, progress: BatchProgress) -> None:
        """Add what a batch tells; each is told once."""
        self._ended_at = self._clock()
        self.raise_by(known.EVENTS_IN, progress.events_in)
        self.raise_by(known.BATCHES, 1)
        # These are counted since the start already.
        self.put(known.DEAD_LETTERS, progress.dead_letters)
        for output, rows in progress.sent.items():
            self.put(known.EVENTS_OUT, rows, output=output)
        for output, batches in progress.held.items():
            self.put(known.HELD, batches, output=output)
        for step, dropped in progress.duplicates.items():
            self.raise_by(known.DROPPED, dropped, step=step)
        for step, counts in (progress.windows | progress.joins).items():
            late = counts.get("late", 0)
            self.raise_by(known.LATE_EVENTS, late)
            self.raise_by(known.STEP_LATE_EVENTS, late, step=step)
        for step, sizes in progress.state.items():
            for size, family in _STATE.items():
                self.put(family, sizes.get(size, 0), step=step)
        self._add_times(progress)
        self._add_phases(progress)

    def _add_times(self, progress: BatchProgress) -> None:
        if progress.watermark is None:
            return
        watermark = _moment(progress.watermark)
        self.put(known.WATERMARK, watermark)
        if progress.newest_event is not None:
            newest = _moment(progress.newest_event)
            self.put(known.NEWEST, newest)
            self.put(known.BEHIND_EVENTS, round(newest - watermark, 3))

    def _add_phases(self, progress: BatchProgress) -> None:
        phases = {name: ms / 1000 for name, ms in progress.phases_ms.items()}
        whole = phases.pop(_WHOLE, 0.0)
        self.raise_by(known.BATCH_SECONDS, whole)
        self.put(known.LAST_BATCH, whole)
        with self._lock:
            # A phase that this batch did not have is not that of an older one.
            self._values.pop(known.LAST_PHASE, None)
        for name, took in phases.items():
            self.raise_by(known.PHASE_SECONDS, took, phase=name)
            self.put(known.LAST_PHASE, took, phase=name)
        for part, took in checkpoint_parts(progress).items():
            self.put(known.CHECKPOINT, took, part=part)

    def values(self) -> dict[Family, dict[Labels, float]]:
        """Give all values as they are now."""
        now = self._clock()
        self.put(known.BATCH_AGE, round(now - self._ended_at, 3))
        with self._lock:
            found = {family: dict(values) for family, values in self._values.items()}
        for watermark in found.get(known.WATERMARK, {}).values():
            found[known.BEHIND_CLOCK] = {(): round(now - watermark, 3)}
        return found

    def text(self) -> str:
        """Give all values in Prometheus' text format."""
        return render(self.values(), {"pipeline": self.pipeline})


def checkpoint_parts(progress: BatchProgress) -> Mapping[str, float]:
    """Give the seconds after which each part of a batch was safe.

    ``offsets`` are Spark's notes of what a batch reads and that it is done, ``state``
    is what a task of the slowest step takes to commit, ``sinks`` the slowest commit of
    an output.
    """
    took = progress.phases_ms
    commits = [ms for name, ms in took.items() if name.rpartition(".")[2] == "commit"]
    states = [sizes.get("commit_ms", 0) for sizes in progress.state.values()]
    parts = {
        "offsets": took.get("walCommit", 0) + took.get("commitOffsets", 0),
        "state": max(states, default=0),
        "sinks": max(commits, default=0),
    }
    return {part: ms / 1000 for part, ms in parts.items()}


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
