"""Count what a topic holds more than once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.ops.ids import id_of
from headrace.ops.spreading import Spot, Spreading

if TYPE_CHECKING:
    from headrace.log import SchemaBook, StoredEvent


@dataclass(frozen=True)
class Counted:
    """What was found in a topic.

    Args:
        records: How many records have an id.
        without_id: How many have none: the column is missing, or the value is.
        ids: How many different ids there are.
        repeated: How many ids are there more than once.
        surplus: How many records there are beyond the first of each id.
        examples: Some of the repeated ids, with the places of their records:
            ``partition:offset``.
    """

    records: int
    without_id: int
    ids: int
    repeated: int
    surplus: int
    examples: dict[str, list[str]]


def count_duplicates(
    batches: Iterable[list[StoredEvent]],
    by: str | None,
    *,
    book: SchemaBook | None = None,
    examples: int = 10,
) -> Counted:
    """Count the ids that are there more than once, in memory that is bounded.

    Args:
        batches: The records; see `headrace.log.Reading`.
        by: The column that is the id; None for the record's key.
        book: The schemas that values name.
        examples: How many of the repeated ids to give, with their places.
    """
    records = without = ids = repeated = 0
    shown: dict[str, list[str]] = {}
    with Spreading() as spread:
        for batch in batches:
            for event in batch:
                name = id_of(event, by, book)
                if name is None:
                    without += 1
                else:
                    records += 1
                    spread.add(name, Spot(event.partition, event.offset))
        for name, spots in spread.by_id():
            ids += 1
            repeated += len(spots) > 1
            if len(spots) > 1 and len(shown) < examples:
                places = [f"{spot.partition}:{spot.offset}" for spot in spots]
                shown[name.decode(errors="replace")] = places
    return Counted(records, without, ids, repeated, records - ids, shown)
