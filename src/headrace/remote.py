"""Remote tables: rows that stay in a database, and are asked for while a batch runs."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import StepError
from headrace.event import EventType, event_type
from headrace.schema.origin import declared_at
from headrace.schema.types import Text, Whole
from headrace.sinks import postgres as postgres_sink
from headrace.sinks import redis as redis_sink
from headrace.sinks.postgres import PostgresSink
from headrace.sinks.redis import RedisSink

_KEYS = (Text, Whole)


@dataclass(frozen=True)
class RemoteTable:
    """A table of another system; nothing of it is read before an event asks.

    Args:
        place: Where it is, in the words of the sink that would write it.
        event: The class of its rows.
        key: The column by which rows are asked for; each value has one row.
        where: The line that declares it.
    """

    place: PostgresSink | RedisSink
    event: EventType
    key: str
    where: str

    @property
    def artifacts(self) -> tuple[str, ...]:
        """The groups of the artifact lock that Spark needs to ask it."""
        return self.place.artifacts


def postgres(
    table: str, rows: type, *, key: str | None = None, database: str = "postgres"
) -> RemoteTable:
    """Name a table of PostgreSQL to be asked.

    Args:
        table: Its name, with a schema before a dot unless that is ``public``.
        rows: The class of its rows, declared with ``@event``; the table may have more
            columns.
        key: The column by which rows are asked for, unique and with an index; by
            default the key of the class.
        database: Its name in the settings' ``databases``, or a database of the server
            that ``headrace up postgres`` starts.

    Raises:
        SchemaError: [not-an-event] the class was not declared.
        StepError: [table-name-refused], [table-needs-key], [column-unknown],
            [key-type-unsupported].

    Example:
        ``payments.join("profile", remote.postgres("profiles", Profile), on="user_id",
        lookup=asking(repeatable=False))``
    """
    where = declared_at()
    place = postgres_sink(table, database=database)
    return _table(place, event_type(rows), key, where)


def redis(
    keyspace: str, rows: type, *, key: str | None = None, as_: str = "hash"
) -> RemoteTable:
    """Name keys of Redis to be asked, each with a row as `sinks.redis` writes it.

    Args:
        keyspace: What the keys begin with, before a colon.
        rows: The class of the rows, declared with ``@event``.
        key: The column whose value stands behind the colon; by default the key of
            the class.
        as_: ``hash``: a hash whose fields are the columns; or ``json``: one JSON
            text.

    Raises:
        SchemaError: [not-an-event] the class was not declared.
        StepError: [target-name-refused], [option-unknown], [table-needs-key],
            [column-unknown], [key-type-unsupported].
    """
    where = declared_at()
    place = redis_sink(keyspace, as_=as_)
    return _table(place, event_type(rows), key, where)


def _table(
    place: PostgresSink | RedisSink, event: EventType, key: str | None, where: str
) -> RemoteTable:
    found = key or event.key
    if found is None:
        raise StepError(
            "table-needs-key",
            f"{place.target} cannot be asked without a key",
            hint='name it: key="user_id", or @event(key="user_id").',
            where=where,
        )
    if found not in event.record:
        raise StepError(
            "column-unknown",
            f'the key is "{found}", which is not a column of {event.name}',
            detail=f"the columns are {', '.join(event.record.names)}.",
            where=where,
        )
    kind = event.record[found].type
    if not isinstance(kind, _KEYS):
        raise StepError(
            "key-type-unsupported",
            f'column "{found}" of type {kind.sql} cannot be asked for',
            detail="keys go to the database as texts; only whole numbers and texts "
            "have one form.",
            hint="ask by a column of such a type.",
            where=where,
        )
    return RemoteTable(place, event, found, where)
