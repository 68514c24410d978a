"""Changes of captured tables, as a connector writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from headrace.cdc.envelope import UNSENT
from headrace.schema.values import plain

_OPS = {"insert": "c", "update": "u", "delete": "d", "snapshot": "r", "truncate": "t"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def captured(
    op: str,
    row: Any = None,
    *,
    before: Any = None,
    position: int | tuple[int, int] = 1,
    at: datetime = datetime(2020, 1, 1, tzinfo=UTC),
    unsent: Sequence[str] = (),
) -> bytes:
    """Write a change of a captured table as the connector for PostgreSQL does.

    Args:
        op: ``insert``, ``update``, ``delete``, ``snapshot`` or ``truncate``.
        row: The row after the change, or of a deletion that before it: an event of
            the table's class, or a mapping.
        before: The row before an update, where the database tells it.
        position: The LSN, alone or behind that of the last commit before it.
        at: When it was committed.
        unsent: The columns that the database has not sent.

    Example:
        ``rig.feed("bank.public.users", captured("insert", User("u1", "Ann")))``
    """
    rows = {"before": _row(before), "after": _row(row)}
    if op == "delete":
        rows = {"before": rows["after"], "after": None}
    if rows["after"] is not None:
        rows["after"] |= {name: _unsent(rows["after"][name]) for name in unsent}
    micros = (_utc(at) - _EPOCH) // _MICROSECOND
    committed, lsn = position if isinstance(position, tuple) else (None, position)
    sequence = [None if committed is None else str(committed), str(lsn)]
    source = {
        "connector": "postgresql",
        "ts_ms": micros // 1000,
        "ts_us": micros,
        "snapshot": "true" if op == "snapshot" else "false",
        "sequence": json.dumps(sequence),
        "lsn": lsn,
    }
    told = {
        **rows,
        "source": source,
        "transaction": None,
        "op": _OPS[op],
        "ts_ms": micros // 1000,
    }
    return json.dumps(told, separators=(",", ":")).encode()


def _unsent(value: Any) -> Any:
    return [UNSENT] if isinstance(value, list) else UNSENT


def _row(row: Any) -> dict[str, Any] | None:
    if row is None:
        return None
    return dict(row) if isinstance(row, Mapping) else dict(plain(row))


def _utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
