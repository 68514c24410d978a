"""What a user wants of a capture, and which settings nobody may change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.cdc.sources import require_table_name
from headrace.errors import CaptureError

SNAPSHOT_MODES = ("initial", "no_data")

HEARTBEAT_SECONDS = 10

# Decoding, completeness or order of the changes would suffer.
_FIXED = {
    "name": "connector and topics are known by it",
    "tasks.max": "changes are ordered by one task",
    "errors.tolerance": "changes would be dropped",
    "exactly.once.support": "changes could come twice",
    "transaction.boundary": "changes and positions are written together",
    "event.processing.failure.handling.mode": "changes would be dropped",
    "skipped.operations": "changes would be dropped",
    "tombstones.on.delete": "compacted topics would keep deleted rows",
    "unavailable.value.placeholder": "unchanged columns are known by it",
    "provide.transaction.metadata": "transactions are known by it",
    "message.key.columns": "changes are keyed by the primary key",
    "read.only": "the connector may not write to the database",
    "flush.lsn.source": "the slot would never move on",
    "lsn.flush.mode": "the slot would run ahead of what the log holds",
    "offset.mismatch.strategy": "a gap would be passed over",
    "snapshot.mode": "--snapshot-mode says it",
    "snapshot.isolation.mode": "a snapshot would not be of one moment",
    "snapshot.query.mode": "a snapshot would not hold every row",
    "snapshot.select.statement.overrides": "a snapshot would not hold every row",
    "snapshot.include.collection.list": "a snapshot would not hold every row",
    "plugin.name": "changes are decoded by pgoutput",
    "snapshot.locking.mode": "a snapshot would not be of one moment",
    "include.schema.changes": "there is no topic for them",
    "inconsistent.schema.handling.mode": "changes would be dropped",
    "event.deserialization.failure.handling.mode": "changes would be dropped",
    "connect.keep.alive": "a server that has come back would not be read",
    "enable.time.adjuster": "decoding relies on it",
    "gtid.source.includes": "changes would be dropped",
    "gtid.source.excludes": "changes would be dropped",
}
_FIXED_FAMILIES = {
    "headrace.": "headrace keeps its own notes there",
    "connector.": "connector and topics are known by it",
    "database.": "they follow from the database's address",
    "table.": "--tables says it",
    "schema.include": "--tables says it",
    "schema.exclude": "--tables says it",
    "schema.name": "decoding relies on it",
    "schema.history": "decoding relies on it",
    "column.": "rows would not be as they are in the database",
    "field.name": "decoding relies on it",
    "topic.prefix": "connector and topics are known by it",
    "topic.naming": "connector and topics are known by it",
    "topic.delimiter": "connector and topics are known by it",
    "topic.heartbeat": "connector and topics are known by it",
    "topic.transaction": "connector and topics are known by it",
    "topic.cache": "connector and topics are known by it",
    "topic.creation": "--partitions and --compact say it",
    "publication.": "--publication says it",
    "slot.name": "--slot says it",
    "slot.drop": "the slot would be gone after a restart",
    "key.converter": "decoding relies on it",
    "value.converter": "decoding relies on it",
    "header.converter": "decoding relies on it",
    "converters": "decoding relies on it",
    "transforms": "decoding relies on it",
    "predicates": "decoding relies on it",
    "decimal.": "decoding relies on it",
    "time.precision": "decoding relies on it",
    "binary.": "decoding relies on it",
    "hstore.": "decoding relies on it",
    "interval.": "decoding relies on it",
    "money.": "decoding relies on it",
    "bigint.": "decoding relies on it",
    "signal.": "two threads would read tables, and rows could be lost",
    "notification.": "headrace hears from the connector by it",
    "heartbeat.": "the slot would hold WAL back",
    "message.prefix": "heartbeats are told apart by it",
    "config.action": "it speaks to the worker",
    "producer.override.enable.idempotence": "changes could come twice",
    "producer.override.acks": "changes could be lost",
    "producer.override.transactional": "changes could come twice",
}


@dataclass(frozen=True)
class Login:
    """The role that the connector logs in as.

    Args:
        user: Its name.
        reference: How Connect finds the password, such as
            ``${directory:/run/captures/bank:password}``; never the password itself.
        password: The password of a role that is to be made; None uses one that
            exists.
    """

    user: str
    reference: str
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Wish:
    """Which tables to capture, and how.

    Args:
        tables: Tables with their schemas, such as ``public.users``.
        snapshot_mode: ``initial`` begins with every row, ``no_data`` with the next
            change.
        partitions: How many partitions each table's topic has; fixed once made.
        compact: Let Kafka forget all but the last change of each row.
        publication: The publication's name, if not ours; it may exist.
        slot: The slot's name, if not ours.
        settings: Further settings of the connector.

    Raises:
        StepError: [table-name-refused] a table cannot have a topic.
        CaptureError: [capture-setting-refused] a setting is not to be changed;
            [snapshot-mode-unknown].
    """

    tables: tuple[str, ...]
    snapshot_mode: str = "initial"
    partitions: int = 1
    compact: bool = False
    publication: str | None = None
    slot: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for table in self.tables:
            require_table_name(table)
        if self.snapshot_mode not in SNAPSHOT_MODES:
            raise CaptureError(
                "snapshot-mode-unknown",
                f'a capture cannot begin with snapshot mode "{self.snapshot_mode}"',
                detail="other modes of the connector repeat or omit snapshots by "
                "themselves, and rows that were deleted meanwhile would stay.",
                hint=f"choose {' or '.join(SNAPSHOT_MODES)}; `headrace cdc resnapshot` "
                "reads the tables again.",
            )
        for name in self.settings:
            _require_free(name)


def _require_free(name: str) -> None:
    family = (why for start, why in _FIXED_FAMILIES.items() if name.startswith(start))
    why = _FIXED.get(name) or next(family, None)
    if why is not None:
        raise CaptureError(
            "capture-setting-refused",
            f'the connector\'s setting "{name}" is not to be changed',
            detail=f"{why}.",
            hint="leave it out; sizes, waits and retries can be set.",
        )
