"""Snapshots: followed by the connector's notices, and counted."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.cdc.place import Capture
from headrace.cdc.topics import records_of
from headrace.errors import CaptureError

BEGUN = "Capture"
"""The kind of our own notice: a capture begins, or begins anew."""

_INITIAL = "Initial Snapshot"
_INCREMENTAL = "Incremental Snapshot"


@dataclass
class TableScan:
    """How far the snapshot of one table is."""

    state: str = "waiting"
    rows: int | None = None

    @property
    def is_given_up(self) -> bool:
        """Whether the connector has gone on without having read it."""
        return self.state not in {"waiting", "running", "done"}


@dataclass
class Progress:
    """How far the snapshots of a capture are.

    Args:
        state: ``none``, ``running`` or ``done``: the first snapshot.
        attempts: How often it was begun. Twice means that rows of an earlier
            attempt are in the log which may have been deleted before the last.
        starts: How often the connector's task has started.
        tables: The tables by name.
        heard: How many notices there were.
    """

    state: str = "none"
    attempts: int = 0
    starts: int = 0
    tables: dict[str, TableScan] = field(default_factory=dict)
    heard: int = 0

    @property
    def repeated(self) -> bool:
        """Whether a snapshot was broken off and begun again."""
        return self.attempts > 1

    def holds(self, tables: Iterable[str]) -> bool:
        """Tell whether every one of some tables has been read."""
        return all(self.tables.get(t, TableScan()).state == "done" for t in tables)


def progress_of(notices: Iterable[dict[str, Any]]) -> Progress:
    """Add up the notices since a capture has begun.

    Example:
        >>> progress_of([{"aggregate_type": "Initial Snapshot", "type": "STARTED"}])
        Progress(state='running', attempts=1, starts=1, tables={}, heard=1)
    """
    found = Progress()
    for notice in notices:
        kind, what = notice["aggregate_type"], notice["type"]
        about = notice.get("additional_data") or {}
        if kind == BEGUN:
            found = Progress()
        elif kind == _INITIAL:
            _initial(found, what, about)
        elif kind == _INCREMENTAL:
            _scanned(found, what, about)
        found.heard += 1
    return found


def _initial(found: Progress, what: str, about: dict[str, Any]) -> None:
    # A task says at its start whether it begins with a snapshot or goes without.
    found.starts += what in {"STARTED", "SKIPPED"}
    if what == "STARTED":
        found.state, found.attempts = "running", found.attempts + 1
    elif what == "COMPLETED":
        found.state = "done"
    _scanned(found, what, about)


def _scanned(found: Progress, what: str, about: dict[str, Any]) -> None:
    if what == "IN_PROGRESS" and "current_collection_in_progress" in about:
        table = found.tables.setdefault(
            about["current_collection_in_progress"], TableScan()
        )
        table.state = "running"
    elif what == "TABLE_SCAN_COMPLETED" and "scanned_collection" in about:
        rows = int(about.get("total_rows_scanned", 0))
        done = about.get("status") in {None, "SUCCEEDED", "EMPTY"}
        found.tables[about["scanned_collection"]] = TableScan(
            "done" if done else str(about["status"]).lower(), rows
        )


def read_progress(capture: Capture, since: Mapping[int, int] | None = None) -> Progress:
    """Read how far the snapshots of a capture are, by all notices or by later ones.

    Raises:
        CaptureError: [capture-log-unreadable].
    """
    records = records_of(capture.kafka, capture.notices, since)
    values = (record.value for record in records)
    return progress_of(json.loads(value) for value in values if value is not None)


def note_beginning(capture: Capture) -> None:
    """Say in the notices that the capture begins anew.

    Raises:
        CaptureError: [capture-log-unreadable] the cluster does not take it.
    """
    id_ = str(uuid.uuid4())
    notice = {"id": id_, "aggregate_type": BEGUN, "type": "STARTED"}
    _send(capture, capture.notices, json.dumps({"id": id_}), notice)


def await_snapshot(
    capture: Capture,
    since: Mapping[int, int],
    done: Callable[[Progress], bool],
    watch: Callable[[Progress], None],
) -> Progress:
    """Wait until snapshots are done; `watch` may raise if that will not be.

    Raises:
        CaptureError: [capture-log-unreadable].
    """
    while True:
        found = read_progress(capture, since)
        if done(found):
            return found
        watch(found)
        time.sleep(0.3)


def _send(capture: Capture, topic: str, key: str, value: dict[str, Any]) -> None:
    from confluent_kafka import KafkaException, Producer  # noqa: PLC0415

    failed: list[Any] = []
    producer = Producer({**capture.kafka, "acks": "all", "enable.idempotence": True})
    try:
        producer.produce(
            topic,
            key=key,
            value=json.dumps(value),
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
        left = producer.flush(30)
    except KafkaException as error:
        failed.append(error.args[0])
        left = 0
    if failed or left:
        raise CaptureError(
            "capture-log-unreadable",
            f'the cluster does not take a record for topic "{topic}"',
            detail=failed[0].str() if failed else "it did not answer in time.",
        )
