"""The capture of an outbox: each row becomes an event on its aggregate's topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headrace.cdc.connect import ConnectCluster
from headrace.cdc.filling import Filling
from headrace.cdc.notes import Notes
from headrace.cdc.outbox import TABLE, table_ddl
from headrace.cdc.own_connector import renew
from headrace.cdc.pg_session import connected
from headrace.cdc.pg_system import PgSystem
from headrace.cdc.place import Capture
from headrace.cdc.systems import system_of
from headrace.cdc.watching import check
from headrace.cdc.wishes import Login, Wish
from headrace.errors import CaptureError

_TEXT = "org.apache.kafka.connect.storage.StringConverter"
_ROUTER = {
    "type": "io.debezium.transforms.outbox.EventRouter",
    "table.field.event.id": "id",
    "table.field.event.key": "aggregate_id",
    "table.field.event.payload": "payload",
    "table.fields.additional.placement": "type:header:type,at:header:at",
    "route.by.field": "aggregate_type",
    # An outbox is only ever added to; a change of a row would be passed over.
    "table.op.invalid.behavior": "fatal",
}


def outbox_of(capture: Capture) -> Capture:
    """Give the capture of a database's outbox: its own connector and its own slot.

    Example:
        >>> here = {"bootstrap.servers": "127.0.0.1:9092"}
        >>> bank = Capture("bank", "postgresql:///bank", "http://127.0.0.1:8083", here)
        >>> outbox_of(bank).database
        'bank-outbox'
    """
    return replace(capture, database=f"{capture.database}-outbox")


def outbox_topic(database: str, aggregate_type: str) -> str:
    """Give the topic of the events of one kind of aggregate.

    Example:
        >>> outbox_topic("bank", "order")
        'bank.outbox.order'
    """
    return f"{database}.outbox.{aggregate_type}"


def add_outbox(
    capture: Capture,
    wish: Wish,
    login: Login | None,
    tell: Callable[[str], None] = lambda _news: None,
) -> None:
    """Carry an outbox's events to their topics; make the table if it is missing.

    Args:
        capture: The database whose outbox it is.
        wish: Its one table is the outbox; partitions are those of every topic.
        login: The role that the connector logs in as.
        tell: Is told what happens.

    Raises:
        CaptureError: What `headrace.cdc.captures.add` raises.
    """
    if capture.system != "postgres":
        raise CaptureError(
            "database-unsupported",
            f'database "{capture.database}" cannot have an outbox',
            detail="outboxes are carried from PostgreSQL alone.",
        )
    (table,) = wish.tables or (TABLE,)
    wish = replace(wish, tables=(table,))
    ours = outbox_of(capture)
    cluster = ConnectCluster(ours.connect)
    if cluster.config(ours.connector) is not None:
        renew(cluster, ours)
        check(ours)
        tell("the outbox is captured already")
        return
    if login is None:
        raise CaptureError(
            "capture-login-missing",
            f'the outbox of "{capture.database}" has no role to log in as',
            hint="give a Login: a role, and how Connect finds its password.",
        )
    with connected(ours.url, ours.database) as connection:
        connection.execute(table_ddl(table).encode())
    system = system_of(ours)
    system.require_new(ours, wish, login)
    notes = Notes(
        (table,), system.prepare(ours, wish, login, (table,)), None, capture.database
    )
    config = outbox_settings(ours, wish, notes, login)
    tell(f"capturing {table}")
    cluster.put(ours.connector, config)
    Filling(cluster, ours, tell).await_reading(config)


def outbox_settings(
    capture: Capture, wish: Wish, notes: Notes, login: Login
) -> dict[str, str]:
    """Give all settings of the connector for an outbox.

    Payloads stay the texts that the database gives: numbers in them keep their digits.
    So records are texts, and the connector's notices, which are none, are left out.
    """
    settings = PgSystem().settings(capture, wish, notes, login)
    kept = {
        name: value
        for name, value in settings.items()
        if not name.startswith(("notification.", "key.conv", "value.conv"))
    }
    target = outbox_topic(notes.database or capture.database, "${routedByValue}")
    return {
        **kept,
        "key.converter": _TEXT,
        "value.converter": _TEXT,
        "provide.transaction.metadata": "false",
        "tombstones.on.delete": "false",
        "skipped.operations": "d,t",
        "topic.creation.default.partitions": str(wish.partitions),
        "topic.creation.default.retention.ms": "-1",
        "transforms": "outbox",
        "predicates": "outbox",
        "predicates.outbox.type": "org.apache.kafka.connect.transforms.predicates"
        ".TopicNameMatches",
        "predicates.outbox.pattern": capture.topic(notes.tables[0]).replace(".", r"\."),
        "transforms.outbox.predicate": "outbox",
        "transforms.outbox.route.topic.replacement": target,
        **{f"transforms.outbox.{name}": value for name, value in _ROUTER.items()},
    }
