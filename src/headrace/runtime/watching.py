"""Look after the captures that a pipeline reads, while it runs.

A capture with a gap goes on without an error of its own, and the pipeline with it. So
somebody has to look, and this stops the pipeline where going on would be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from threading import Event, Thread
from typing import Any, Protocol

from headrace.cdc.connect import ConnectCluster
from headrace.cdc.place import Capture
from headrace.cdc.watching import PASSING, Watch, require_capture
from headrace.errors import CaptureError, ServiceError
from headrace.plan.changes import captured_tables
from headrace.plan.steps import Output


class CaptureServers(Protocol):
    """Where the servers of captures are."""

    def database(self, name: str) -> str:
        """Give a database by the name that pipelines use for it."""

    def connect(self) -> str:
        """Give the Kafka Connect."""


EVERY = timedelta(seconds=10)
_END_SECONDS = 30


def captured_databases(outputs: Sequence[Output]) -> list[str]:
    """Give the databases whose captured tables come to outputs."""
    tables = (captured_tables(output.step) for output in outputs)
    return sorted({table.database for each in tables for table in each})


def find_captures(
    databases: Sequence[str], servers: CaptureServers, kafka: Mapping[str, Any]
) -> tuple[list[Capture], dict[str, str]]:
    """Give the captures that can be looked after, and why the others cannot.

    A capture that somebody else has made is theirs to look after, and one whose
    servers are not known here cannot be.

    Args:
        databases: By the names that pipelines use for them.
        servers: Where databases and Kafka Connect are.
        kafka: The settings of a Kafka client.
    """
    found, others = [], {}
    for name in databases:
        try:
            url, connect = servers.database(name), servers.connect()
        except ServiceError as error:
            others[name] = error.fact
            continue
        capture = Capture(name, url, connect, kafka)
        try:
            require_capture(ConnectCluster(connect), capture)
        except CaptureError as error:
            if error.slug == "capture-missing":
                others[name] = error.detail or error.fact
                continue
            if error.slug not in PASSING:
                raise
        found.append(capture)
    return found, others


class CaptureGuard:
    """Looks at captures in a thread of its own, and keeps the first that is wrong.

    Args:
        captures: The captures.
        every: How often to look.

    Raises:
        CaptureError: From the start, if a capture is wrong already.

    Example:
        ``with CaptureGuard(captures) as guard: follow(query, tell, guard=guard)``
    """

    def __init__(
        self, captures: Sequence[Capture], *, every: timedelta = EVERY
    ) -> None:
        self._watches = [Watch(capture) for capture in captures]
        self._every = every
        self._enough = Event()
        self._found: CaptureError | None = None
        self._thread = Thread(target=self._look, name="captures", daemon=True)

    def __enter__(self) -> CaptureGuard:
        for watch in self._watches:
            watch.check()
        if self._watches:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        if self._thread.is_alive():
            self._thread.join(_END_SECONDS)

    def check(self) -> None:
        """Raise what was found, if anything was.

        Raises:
            CaptureError: As `headrace.cdc.watching.Watch` does.
        """
        if self._found is not None:
            raise self._found

    def _look(self) -> None:
        while not self._enough.wait(self._every.total_seconds()):
            try:
                for watch in self._watches:
                    watch.check()
            except CaptureError as error:
                self._found = error
                return
