"""Captured tables as the sources of streams and tables."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.errors import StepError
from headrace.schema.origin import declared_at

# What slots and topics may be called, so that one name serves for all of them.
_DATABASE = re.compile(r"[a-z][a-z0-9_-]{0,47}")

# Anything else would have another name as a topic, which a second table may share.
_TABLE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class CapturedTable:
    """A table whose changes a connector writes to a topic.

    The changes of a row are ordered by the topic's offsets, and by nothing else: rows
    of a snapshot carry LSNs that may be above those of changes that follow them.

    Args:
        system: The kind of database: ``postgres``, or ``mysql`` for MariaDB too.
        database: The name that the settings, the connector and the topics use.
        table: The table with its schema, such as ``public.users``.
        event: The class of its rows, declared with ``@event``; its key is the
            table's primary key. None if the rows are not described here.
        where: The file and line that declared it.

    Example:
        >>> postgres("bank", "public.users").topic
        'bank.public.users'
    """

    system: str
    database: str
    table: str
    event: type | None
    where: str

    @property
    def topic(self) -> str:
        """The topic that holds the table's changes."""
        return topic_of(self.database, self.table)

    @property
    def transactions(self) -> str:
        """The topic that says where the database's transactions begin and end."""
        return topic_of(self.database, "transaction")


def postgres(database: str, table: str, event: type | None = None) -> CapturedTable:
    """Name a table of PostgreSQL whose changes are captured.

    Args:
        database: The database by the name that the settings have for it, or a
            database of our own server.
        table: The table with its schema, such as ``public.users``.
        event: The class of its rows, declared with ``@event``, keyed by the table's
            primary key. `headrace cdc describe` prints one.

    Raises:
        StepError: [database-name-refused], [table-name-refused] no topic could be
            called so.
    """
    return _captured("postgres", database, table, event)


def mariadb(database: str, table: str, event: type | None = None) -> CapturedTable:
    """Name a table of MariaDB whose changes are captured.

    Args:
        database: The server by the name that the settings have for it.
        table: The table with its database, such as ``shop.orders``.
        event: The class of its rows, declared with ``@event``, keyed by the table's
            primary key. `headrace cdc describe` prints one.

    Raises:
        StepError: [database-name-refused], [table-name-refused] no topic could be
            called so.

    Example:
        >>> mariadb("erp", "shop.orders").topic
        'erp.shop.orders'
    """
    return _captured("mysql", database, table, event)


def mysql(database: str, table: str, event: type | None = None) -> CapturedTable:
    """Name a table of MySQL whose changes are captured, as `mariadb` does."""
    return _captured("mysql", database, table, event)


def topic_of(database: str, table: str) -> str:
    """Give the topic of a captured table.

    Example:
        >>> topic_of("bank", "public.users")
        'bank.public.users'
    """
    return f"{database}.{table}"


def require_database_name(name: str, where: str | None = None) -> None:
    """Refuse a name that topics, slots and connectors could not have in common.

    Raises:
        StepError: [database-name-refused] it has other characters, or too many.
    """
    if not _DATABASE.fullmatch(name):
        raise StepError(
            "database-name-refused",
            f'"{name}" cannot be the name of a captured database',
            detail="lower-case letters, digits, dashes and underscores, a letter "
            "first, 48 at most.",
            hint='the setting "databases" gives a database another name.',
            where=where,
        )


def require_table_name(name: str, where: str | None = None) -> None:
    """Refuse a table that has no schema, or a name that no topic can have.

    Raises:
        StepError: [table-name-refused] it is not of the form schema.table, or has
            other characters.
    """
    if not _TABLE.fullmatch(name):
        raise StepError(
            "table-name-refused",
            f'"{name}" cannot be captured as a table',
            detail="a table is named with its schema, both of letters, digits, "
            "dashes and underscores.",
            hint="name it as in public.users.",
            where=where,
        )


def _captured(
    system: str, database: str, table: str, event: type | None
) -> CapturedTable:
    where = declared_at()
    require_database_name(database, where)
    require_table_name(table, where)
    return CapturedTable(system, database, table, event, where)
