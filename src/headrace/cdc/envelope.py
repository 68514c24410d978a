"""The change envelope, as far as plain Python looks into it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

UNSENT = "__debezium_unavailable_value"
"""What stands for a large value that an update has left as it was."""

_FORMS = (
    UNSENT,
    base64.b64encode(UNSENT.encode()).decode(),
    json.dumps({UNSENT: UNSENT}, separators=(",", ":")),
    # As UUID.nameUUIDFromBytes makes it.
    "b68a35a7-17ad-35b3-af2a-ae46edb4545a",
)


@dataclass(frozen=True)
class RowChange:
    """What a change does to a row.

    Args:
        op: ``c``, ``u``, ``d``, ``r`` or ``t``, as the connector says it.
        row: The row after it, or that before a deletion; None after a truncation.
        unsent: The columns that the database has not sent.
    """

    op: str
    row: Mapping[str, Any] | None
    unsent: frozenset[str]


def read_change(value: bytes) -> RowChange:
    """Read a change of a captured table.

    Raises:
        ValueError: It is none.

    Example:
        >>> read_change(b'{"op": "u", "after": {"id": 1, "note": "short"}}').row
        {'id': 1, 'note': 'short'}
    """
    match json.loads(value):
        case {"op": "t"}:
            return RowChange("t", None, frozenset())
        case {"op": "d", "before": dict(row)}:
            op = "d"
        case {"op": "c" | "u" | "r" as op, "after": dict(row)}:
            pass
        case _:
            raise ValueError("it is no change of a row")
    return RowChange(op, row, frozenset(n for n, v in row.items() if _is_unsent(v)))


def _is_unsent(value: Any) -> bool:
    if isinstance(value, list):
        return (len(value) == 1 and value[0] in _FORMS) or value == [*UNSENT.encode()]
    return isinstance(value, str) and value in _FORMS[:3]
