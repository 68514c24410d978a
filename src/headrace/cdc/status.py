"""How a capture is: its connector, its place in the database, its tables."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.cdc.connect import ConnectCluster
from headrace.cdc.connector import NOTICES
from headrace.cdc.place import Capture
from headrace.cdc.snapshots import TableScan, read_progress
from headrace.cdc.systems import Standing, system_of
from headrace.cdc.watching import problems, require_capture
from headrace.errors import CaptureError


@dataclass(frozen=True)
class TableStatus:
    """A captured table: its topic, and how far its snapshot is."""

    table: str
    topic: str
    snapshot: str
    rows: int | None


@dataclass(frozen=True)
class CaptureStatus:
    """All that there is to know about a capture."""

    database: str
    connector: str
    task: str
    standing: Standing
    tables: tuple[TableStatus, ...]
    problems: tuple[CaptureError, ...]


def status_of(capture: Capture) -> CaptureStatus:
    """Look at a capture from all sides.

    Raises:
        CaptureError: [capture-missing], [connect-unreachable].
    """
    cluster = ConnectCluster(capture.connect)
    config, notes = require_capture(cluster, capture)
    found = tuple(problems(capture))
    state = cluster.state(capture.connector)
    try:
        offset = cluster.offset(capture.connector)
        standing = system_of(capture).standing(capture, config, offset)
        scans = read_progress(capture).tables
    except CaptureError as error:
        # It is among the problems; the rest is worth showing.
        standing, scans = Standing(error.fact), {}
    no_data = config["snapshot.mode"] == "no_data" or NOTICES not in config
    unread = TableScan("none" if no_data else "waiting")
    tables = (
        TableStatus(table, capture.topic(table), scan.state, scan.rows)
        for table, scan in ((t, scans.get(t, unread)) for t in notes.tables)
    )
    return CaptureStatus(
        capture.database,
        state.connector.lower() if state else "gone",
        (state.task or "none").lower() if state else "gone",
        standing,
        tuple(tables),
        found,
    )
