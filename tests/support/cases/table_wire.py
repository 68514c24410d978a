"""Changes of the model as a connector writes them to a topic."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from headrace.testing import captured
from support.models.table_model import NO_COMMIT, Change, Row

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def named(case: int, key: str) -> str:
    """Give the key of a case."""
    return f"{case}/{key}"


def envelope(change: Change, key: str, row: Row | None) -> bytes:
    """Write a change as the connector does, of a row under a key of its own."""
    place = change.place
    at = EPOCH + timedelta(microseconds=change.at)
    lsn: Any = 0 if place is None else place.lsn
    if place is not None and place.commit != NO_COMMIT:
        lsn = (place.commit, place.lsn)
    op = "delete" if row is None else "snapshot" if change.is_snapshot else "update"
    told = captured(
        op,
        {"id": key} if row is None else row,
        position=lsn,
        at=at,
        unsent=sorted(change.unsent),
    )
    if place is None:
        # Told by somebody who has no place in the database's log.
        envelope = json.loads(told)
        del envelope["source"]["lsn"], envelope["source"]["sequence"]
        told = json.dumps(envelope).encode()
    return told
