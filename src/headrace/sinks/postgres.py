"""PostgreSQL as a sink: a table that rows are added to, or replaced in by their key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

from headrace.errors import ServiceError, SettingsError, StepError
from headrace.schema.origin import declared_at
from headrace.sinks.promises import Servers

MODES = ("upsert", "append")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,62}")


@dataclass(frozen=True)
class PostgresSink:
    """A table to write to, in a transaction with the sink's own ledger.

    What it promises is said in the words of `headrace.sinks.promises`.
    """

    table: str
    schema: str
    database: str
    key: str | None
    mode: str
    where: str

    system: ClassVar[str] = "postgres"
    guarantees: ClassVar[tuple[str, ...]] = ("exactly-once", "at-least-once")
    atomic: ClassVar[bool] = True
    takes: ClassVar[str] = "documents"
    artifacts: ClassVar[tuple[str, ...]] = ("spark-postgres",)

    @property
    def same_key(self) -> str:
        """A row replaces the one of its key, or is added."""
        return "replace" if self.mode == "upsert" else "append"

    @property
    def deletes(self) -> str:
        """A deleted key's row goes; where rows are added, none can."""
        return "remove" if self.mode == "upsert" else "refuse"

    @property
    def target(self) -> str:
        """The table, with its schema and database."""
        return f"table {self.schema}.{self.table} of database {self.database}"

    def settings(self, servers: Servers | None) -> dict[str, str]:
        """Give table, mode and address; the address points at the password.

        Raises:
            ServiceError: [server-unknown] nobody knows the database.
            SettingsError: [password-in-address] the address holds a password.
        """
        if servers is None:
            raise ServiceError(
                "server-unknown",
                f'nobody has said where database "{self.database}" is',
                hint="give the servers' addresses, as `headrace run` does.",
                where=self.where,
            )
        address = servers.database(self.database)
        _require_no_password(address, self.database)
        return {
            "address": address,
            "schema": self.schema,
            "table": self.table,
            "mode": self.mode,
        }


def postgres(
    table: str,
    *,
    key: str | None = None,
    database: str = "postgres",
    mode: str = "upsert",
) -> PostgresSink:
    """Write to a table of PostgreSQL, exactly once.

    The table is made if it is missing. One that is there must have the output's
    columns, in types that hold every value as it is, and in mode ``upsert`` a primary
    key or unique index on the key.

    Args:
        table: Its name, with a schema before a dot unless that is ``public``. Capital
            letters count.
        key: The column that rows replace each other by; by default the events' own
            key.
        database: Its name in the settings' ``databases``, or a database of the server
            that ``headrace up postgres`` starts.
        mode: ``upsert``: a row replaces the one of its key, and a deleted key's row
            goes. ``append``: rows are added, and need no key.

    Raises:
        StepError: [table-name-refused] the name is none; [mode-unknown] there is no
            such mode.

    Example:
        >>> postgres("alerts", key="alert_id", database="bank").target
        'table public.alerts of database bank'
    """
    where = declared_at()
    schema, dot, name = table.rpartition(".")
    schema = schema if dot else "public"
    if not _NAME.fullmatch(schema) or not _NAME.fullmatch(name):
        raise StepError(
            "table-name-refused",
            f'"{table}" cannot be the name of a table',
            detail="a schema, a dot and a name, or the name alone; each of letters, "
            "digits and underscores, a letter first, 63 at most.",
            where=where,
        )
    if mode not in MODES:
        raise StepError(
            "mode-unknown",
            f'there is no mode "{mode}"',
            hint=f"choose from {', '.join(MODES)}.",
            where=where,
        )
    return PostgresSink(name, schema, database, key, mode, where)


def _require_no_password(address: str, database: str) -> None:
    """Refuse a password where it would be seen in plans, logs and process lists."""
    parts = urlsplit(address)
    if parts.password is None and "password" not in parse_qs(parts.query):
        return
    raise SettingsError(
        "password-in-address",
        f'the address of database "{database}" holds a password',
        detail="it would be seen in plans and logs.",
        hint="put it into a password file (`host:port:database:user:password`, mode "
        "600), and name the file in the address: ?passfile=/a/file.",
    )
