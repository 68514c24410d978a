"""What tells two records apart: their key, or a column of their value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headrace.log import value_json

if TYPE_CHECKING:
    from headrace.log import SchemaBook, StoredEvent


def id_of(event: StoredEvent, by: str | None, book: SchemaBook | None) -> bytes | None:
    """Give the id of a record as bytes; None if it has none.

    Args:
        event: The record.
        by: The column; None for the record's key.
        book: The schemas that values name, where there is a registry.

    Example:
        >>> from headrace.log import StoredEvent
        >>> record = StoredEvent("t", 0, 7, None, b"k", b'{"id": "a", "n": 1}', ())
        >>> id_of(record, None, None), id_of(record, "id", None)
        (b'k', b'a')
    """
    if by is None:
        return event.key
    found = row_of(event, book).get(by)
    if found is None:
        return None
    text = found if isinstance(found, str) else json.dumps(found, sort_keys=True)
    return text.encode()


def row_of(event: StoredEvent, book: SchemaBook | None) -> dict[str, Any]:
    """Give the columns of a record; none where its value is not a row."""
    found = None if event.value is None else json.loads(value_json(event.value, book))
    return found if isinstance(found, dict) else {}
