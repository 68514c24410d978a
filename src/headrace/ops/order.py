"""Tell in which order of time the records of a topic lie, and why not in that one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from headrace.ops.ids import id_of, row_of
from headrace.ops.spreading import Spot, Spreading

if TYPE_CHECKING:
    from headrace.log import SchemaBook, StoredEvent


@dataclass(frozen=True)
class Order:
    """What was found in a topic.

    Args:
        records: How many records have an id and a time.
        without: How many lack one of them.
        behind_in_partition: How many are older than one before them in their
            partition, of any id.
        behind_in_id: How many are older than one of the same id before them in their
            partition.
        scattered: How many ids have records in more than one partition.
        furthest_ms: By how much the oldest of those behind in their id is behind.
        examples: Some of the ids that are scattered or behind, with the places that
            show it: their first record in each partition, and those that are behind.
    """

    records: int
    without: int
    behind_in_partition: int
    behind_in_id: int
    scattered: int
    furthest_ms: int
    examples: dict[str, list[str]]


def look_at_order(
    batches: Iterable[list[StoredEvent]],
    by: str | None,
    time: str | None,
    *,
    book: SchemaBook | None = None,
    examples: int = 10,
) -> Order:
    """Compare the order of records with that of their times.

    Args:
        batches: The records, those of a partition in order.
        by: The column within whose values order counts; None for the record's key.
        time: The column with the time; None for the record's own.
        book: The schemas that values name.
        examples: How many ids to give that are scattered or behind.
    """
    records = without = behind = behind_in_id = scattered = furthest = 0
    newest: dict[int, int] = defaultdict(int)
    shown: dict[str, list[str]] = {}
    with Spreading() as spread:
        for event in (event for batch in batches for event in batch):
            name, at = id_of(event, by, book), _time_of(event, time, book)
            if name is None or at is None:
                without += 1
                continue
            records += 1
            behind += at < newest[event.partition]
            newest[event.partition] = max(newest[event.partition], at)
            spread.add(name, Spot(event.partition, event.offset, at))
        for name, spots in spread.by_id():
            first = {spot.partition: spot for spot in reversed(spots)}
            delays = _delays(spots)
            scattered += len(first) > 1
            behind_in_id += len(delays)
            furthest = max([furthest, *delays.values()])
            wrong = [*(first.values() if len(first) > 1 else ()), *delays]
            if wrong and len(shown) < examples:
                places = [f"{spot.partition}:{spot.offset}" for spot in sorted(wrong)]
                shown[name.decode(errors="replace")] = places
    counts = (records, without, behind, behind_in_id, scattered, furthest)
    return Order(*counts, shown)


def _delays(spots: Sequence[Spot]) -> dict[Spot, int]:
    """Give the records behind one before them in their partition, and by how much."""
    newest: dict[int, int] = defaultdict(int)
    delays = {}
    for spot in spots:
        if spot.time < newest[spot.partition]:
            delays[spot] = newest[spot.partition] - spot.time
        newest[spot.partition] = max(newest[spot.partition], spot.time)
    return delays


def _time_of(
    event: StoredEvent, column: str | None, book: SchemaBook | None
) -> int | None:
    if column is None:
        return event.time
    found = row_of(event, book).get(column)
    try:
        moment = datetime.fromisoformat(str(found))
    except ValueError:
        return None
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(zoned.timestamp() * 1000)
