"""The outbox: a state change and the event that tells of it, in one transaction.

An application that writes to its database and then to Kafka can die in between. So it
writes the event to a table instead, in the transaction of the change, and the capture
of that table carries it to the topic ``<database>.outbox.<aggregate type>``.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from headrace.cdc.sources import require_table_name
from headrace.errors import CaptureError

if TYPE_CHECKING:
    from psycopg import Connection
    from sqlalchemy.orm import Session

TABLE = "public.outbox"

_INSERT = (
    "insert into {} (id, aggregate_type, aggregate_id, type, payload) "
    "values ({}, {}, {}, {}, {})"
)
_DELETE = "delete from {} where {}"


@dataclass(frozen=True)
class OutboxEvent:
    """Something that has happened to an aggregate.

    Args:
        aggregate_type: What kind of thing, such as ``order``; names the topic.
        aggregate_id: Which one; keys the record, so that its events stay in order.
        type: What happened, such as ``OrderPlaced``; a header of the record.
        payload: The event; its JSON is the record's value.
        id: By what consumers know an event again that comes twice; a header.

    Raises:
        CaptureError: [outbox-event-refused] no topic could be called so, or the
            payload is no JSON.

    Example:
        >>> OutboxEvent("order", "7", "OrderPlaced", {"total": "12.10"}).text
        '{"total": "12.10"}'
    """

    aggregate_type: str
    aggregate_id: str
    type: str
    payload: Mapping[str, Any]
    id: uuid.UUID = field(default_factory=uuid.uuid4)

    def __post_init__(self) -> None:
        legal = self.aggregate_type.replace("-", "").replace("_", "")
        if not (legal.isascii() and legal.isalnum()):
            raise CaptureError(
                "outbox-event-refused",
                f'"{self.aggregate_type}" cannot be the type of an aggregate',
                detail="it names a topic: letters, digits, dashes and underscores.",
            )
        try:
            self.text  # noqa: B018 - it is made to see whether it can be
        except (TypeError, ValueError) as error:
            raise CaptureError(
                "outbox-event-refused",
                f'the payload of a "{self.type}" is no JSON',
                detail=f"{error}.",
                hint="give texts, numbers, truths, lists and mappings; write decimals "
                "and times as texts.",
            ) from error

    @property
    def text(self) -> str:
        """The payload as JSON."""
        return json.dumps(dict(self.payload), allow_nan=False)


def table_ddl(table: str = TABLE) -> str:
    """Give the statement that makes an outbox.

    Example:
        >>> print(table_ddl().splitlines()[0])
        create table if not exists public.outbox (

    Raises:
        StepError: [table-name-refused].
    """
    require_table_name(table)
    return f"""\
create table if not exists {_quoted(table)} (
  id uuid primary key,
  aggregate_type text not null,
  aggregate_id text not null,
  type text not null,
  payload jsonb not null,
  at timestamptz not null default clock_timestamp()
)"""


def put(
    connection: Connection[Any],
    event: OutboxEvent,
    *,
    table: str = TABLE,
    keep: bool = True,
) -> None:
    """Tell of a change in its own transaction, with psycopg.

    Args:
        connection: The connection on which the change is made.
        event: What happened.
        table: The outbox.
        keep: Leave the row, so that a new snapshot can tell of it again; otherwise
            it is gone when the transaction ends, and its event comes all the same.

    Raises:
        CaptureError: [outbox-without-transaction] each statement would be committed
            by itself, and the event could come without the change.
    """
    from psycopg.pq import TransactionStatus  # noqa: PLC0415 - only users need it

    idle = connection.info.transaction_status == TransactionStatus.IDLE
    if connection.autocommit and idle:
        raise CaptureError(
            "outbox-without-transaction",
            "an event was put into the outbox outside of a transaction",
            detail="the connection commits each statement by itself, so change and "
            "event could part.",
            hint="use `with connection.transaction():` around both.",
        )
    sql = _INSERT.format(_quoted(table), *(["%s"] * 5))
    connection.execute(sql.encode(), _values(event))
    if not keep:
        gone = _DELETE.format(_quoted(table), "id = %s")
        connection.execute(gone.encode(), [str(event.id)])


def put_with_session(
    session: Session, event: OutboxEvent, *, table: str = TABLE, keep: bool = True
) -> None:
    """Tell of a change in its own transaction, with SQLAlchemy.

    Args:
        session: The session that makes the change; its commit commits both.
        event: What happened.
        table: The outbox.
        keep: As for `put`.
    """
    from sqlalchemy import text  # noqa: PLC0415 - only its users have it

    names = ("id", "aggregate_type", "aggregate_id", "type", "payload")
    marks = (f"cast(:{name} as {_TYPES.get(name, 'text')})" for name in names)
    statement = text(_INSERT.format(_quoted(table), *marks))
    session.execute(statement, dict(zip(names, _values(event), strict=True)))
    if not keep:
        gone = text(_DELETE.format(_quoted(table), "id = cast(:id as uuid)"))
        session.execute(gone, {"id": str(event.id)})


def purge(
    connection: Connection[Any], older_than: timedelta, *, table: str = TABLE
) -> int:
    """Remove rows that were kept; give how many. Their events stay in the log."""
    sql = _DELETE.format(_quoted(table), "at < clock_timestamp() - %s")
    return connection.execute(sql.encode(), [older_than]).rowcount


_TYPES = {"id": "uuid", "payload": "jsonb"}


def _values(event: OutboxEvent) -> list[str]:
    return [
        str(event.id),
        event.aggregate_type,
        event.aggregate_id,
        event.type,
        event.text,
    ]


def _quoted(table: str) -> str:
    """Quote a table's name, which has no quotes of its own.

    Raises:
        StepError: [table-name-refused].
    """
    require_table_name(table)
    schema, _, name = table.partition(".")
    return ".".join(
        p if p.islower() and p.isidentifier() else f'"{p}"' for p in (schema, name)
    )
