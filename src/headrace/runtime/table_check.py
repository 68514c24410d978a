"""Tell whether a topic, once it is compacted, still gives the table that it gives now.

Compaction keeps the last record of each key in a partition. That is the whole table
only if each last record tells all of its row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.cdc.envelope import read_change

if TYPE_CHECKING:
    from headrace.log import StoredEvent
    from headrace.plan.changes import ReadChanges

SHOWN = 10

# Which row of the table, and what it is; None if it is not there.
Word = tuple[Any, Any]


@dataclass
class Checked:
    """What was found in the topic of a table.

    Attributes:
        records: How many records it holds.
        rows: How many rows the table has.
        kept: How many records compaction would leave.
        differences: By what is wrong, how many rows it concerns.
        examples: Some of them: the place of the record, and what is wrong with it.
    """

    records: int = 0
    rows: int = 0
    kept: int = 0
    differences: Counter[str] = field(default_factory=Counter)
    examples: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_same(self) -> bool:
        """Whether the compacted topic gives the same table."""
        return not self.differences

    def note(self, event: StoredEvent, what: str) -> None:
        """Note a difference."""
        self.differences[what] += 1
        if len(self.examples) < SHOWN:
            place = f"partition {event.partition}, offset {event.offset}"
            self.examples.append((place, what))


def check_table(read: ReadChanges, events: Iterable[StoredEvent]) -> Checked:
    """Build a table from a whole topic, and from what compaction would leave of it.

    Args:
        read: How the table is read.
        events: The topic's records, those of a partition in order.
    """
    checked = Checked()
    word = _captured(read) if read.is_captured else _upsert
    last: dict[tuple[int, bytes], StoredEvent] = {}
    whole: dict[Any, Any] = {}
    homes: dict[Any, int] = {}
    for event in events:
        checked.records += 1
        if event.key is None:
            checked.note(event, "without a key, it is in nobody's place")
        else:
            last[event.partition, event.key] = event
        try:
            found = word(event, whole)
        except ValueError as error:
            checked.note(event, f"it cannot be read: {error}")
            continue
        if found is not None:
            key, row = found
            whole[key] = row
            if homes.setdefault(key, event.partition) != event.partition:
                checked.note(event, "its key was in another partition before")
    compacted: dict[Any, Any] = {}
    for event in last.values():
        _add(event, word, compacted, checked)
    _compare(whole, compacted, checked)
    checked.kept = len(last)
    return checked


Reader = Callable[["StoredEvent", dict[Any, Any]], Word | None]


def _add(
    event: StoredEvent, word: Reader, compacted: dict[Any, Any], checked: Checked
) -> None:
    try:
        found = word(event, compacted)
    except ValueError as error:
        checked.note(event, f"alone, it does not tell its row: {error}")
        return
    if found is not None:
        compacted[found[0]] = found[1]


def _compare(
    whole: dict[Any, Any], compacted: dict[Any, Any], checked: Checked
) -> None:
    rows = {key: row for key, row in whole.items() if row is not None}
    checked.rows = len(rows)
    left = {key: row for key, row in compacted.items() if row is not None}
    differ = sum(rows.get(key) != left.get(key) for key in rows | left)
    if differ:
        checked.differences["the row is another one in the compacted topic"] += differ


def _upsert(event: StoredEvent, _known: dict[Any, Any]) -> Word | None:
    return (event.key, event.value)


def _captured(read: ReadChanges) -> Reader:
    columns, by = read.row.names, read.by

    def word(event: StoredEvent, known: dict[Any, Any]) -> Word | None:
        if event.value is None:
            # It follows a deletion, and is there for compaction's sake.
            return None
        change = read_change(event.value)
        if change.row is None:
            raise ValueError("the table was truncated")
        key = tuple(_frozen(change.row.get(name)) for name in by)
        if change.op == "d":
            return key, None
        row = {name: change.row.get(name) for name in columns}
        missing = change.unsent & set(columns)
        if missing:
            before = known.get(key)
            if before is None:
                raise ValueError(f"{', '.join(sorted(missing))} was not sent")
            row |= {name: before[name] for name in missing}
        return key, row

    return word


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
