"""Make what a capture needs inside PostgreSQL, and take away what was made."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.cdc.pg_catalogue import (
    Publication,
    TableFacts,
    missing_rights,
    publication_of,
    slot_of,
    tables_hidden_from,
    tables_of,
)
from headrace.cdc.preparing import name_taken, no_key, no_table
from headrace.errors import CaptureError

if TYPE_CHECKING:
    from psycopg import Connection

_OLDEST = 140000
_GENERATED = 180000
_DROP_SECONDS = 30.0


@dataclass(frozen=True)
class PgNames:
    """What a capture's parts are called in a database."""

    role: str
    publication: str
    slot: str


def made_by(database: str) -> str:
    """Give the comment by which we know what we made ourselves."""
    return f'made by headrace for the capture of "{database}"'


def require_capturable(
    connection: Connection[Any], tables: Sequence[str]
) -> dict[str, TableFacts]:
    """Refuse a server or tables whose changes could not be told apart by key.

    Raises:
        CaptureError: [capture-unsupported] the server decodes no changes;
            [capture-table-missing] there is no such table;
            [capture-key-missing] it has no primary key, or no replica identity.
    """
    level = connection.execute("show wal_level").fetchone()
    version = connection.info.server_version
    if level != ("logical",) or version < _OLDEST:
        raise CaptureError(
            "capture-unsupported",
            "the server cannot have its changes captured",
            detail=f"it is version {version // 10000} with wal_level = "
            f"{level[0] if level else '?'}.",
            hint="PostgreSQL 14 or later with wal_level = logical, which needs a "
            "restart of the server.",
        )
    found = tables_of(connection, tables)
    for table in tables:
        _require_table(found.get(table), table)
    return found


def _require_table(facts: TableFacts | None, table: str) -> None:
    if facts is None or facts.kind not in {"r", "p"} or not facts.permanent:
        nature = "it is a view, a foreign table, or one that is not logged."
        raise no_table(table, None if facts is None else nature, "public.users")
    if not facts.key:
        raise no_key(table)
    if facts.replica_identity == "n":
        raise CaptureError(
            "capture-key-missing",
            f"table {table} has REPLICA IDENTITY NOTHING",
            detail="updates and deletes would not say which row they are about.",
            hint=f"alter table {table} replica identity default; with full, changes "
            "also carry the row as it was before.",
        )


def require_whole(
    connection: Connection[Any], role: str, tables: Sequence[str]
) -> None:
    """Refuse tables of which a snapshot would hold a part of the rows alone.

    Raises:
        CaptureError: [capture-rows-hidden] they have row-level security, and the role
            is neither exempt from it nor their owner.
    """
    hidden = tables_hidden_from(connection, role, tables)
    if hidden:
        raise rows_hidden(role, hidden)


def rows_hidden(role: str, tables: Sequence[str]) -> CaptureError:
    """Say of which tables a role is not shown all rows."""
    return CaptureError(
        "capture-rows-hidden",
        f'role "{role}" is not shown every row of {", ".join(tables)}',
        detail="row-level security is on, so a snapshot would lack rows without a "
        "word, and a new one would delete them from the log.",
        hint=f'let a superuser run `alter role "{role}" bypassrls`; for a new '
        "capture, make such a role first, and name it with --role and "
        "--password-file.",
    )


def ensure_role(
    connection: Connection[Any], role: str, password: str, database: str
) -> None:
    """Make the role that the connector logs in as, or give ours the password.

    Raises:
        CaptureError: [capture-name-taken] a role of that name is somebody else's.
    """
    from psycopg import sql  # noqa: PLC0415 - only work on captures needs it

    name = sql.Identifier(role)
    comment = connection.execute(
        "select shobj_description(oid, 'pg_authid') from pg_roles where rolname = %s",
        [role],
    ).fetchone()
    if comment is not None and comment[0] != made_by(database):
        raise name_taken("role", role, "--role and --password-file use it as it is.")
    # As a verifier: the server, its log and its statistics never see the password.
    verifier = connection.pgconn.encrypt_password(
        password.encode(), role.encode(), b"scram-sha-256"
    )
    verb = sql.SQL("alter role" if comment else "create role")
    with connection.transaction():
        connection.execute(
            sql.SQL("{} {} login replication password {}").format(
                verb, name, sql.Literal(verifier.decode())
            )
        )
        connection.execute(
            sql.SQL("comment on role {} is {}").format(
                name, sql.Literal(made_by(database))
            )
        )


def allow_login(connection: Connection[Any], role: str, database: str) -> None:
    """Let the role log in and replicate again, if it is ours."""
    from psycopg import sql  # noqa: PLC0415 - only work on captures needs it

    if _is_our_role(connection, role, database):
        connection.execute(
            sql.SQL("alter role {} login replication").format(sql.Identifier(role))
        )


def _is_our_role(connection: Connection[Any], role: str, database: str) -> bool:
    row = connection.execute(
        "select 1 from pg_roles where rolname = %s and "
        "shobj_description(oid, 'pg_authid') = %s",
        [role, made_by(database)],
    ).fetchone()
    return row is not None


def grant(connection: Connection[Any], role: str, tables: Sequence[str]) -> None:
    """Let a role read tables, as a snapshot does.

    Raises:
        CaptureError: [capture-permission-denied] we may not grant that.
    """
    import psycopg  # noqa: PLC0415 - only work on captures needs it
    from psycopg import sql  # noqa: PLC0415

    if not missing_rights(connection, role, tables):
        return
    name = sql.Identifier(role)
    base = connection.info.dbname
    try:
        connection.execute(
            sql.SQL("grant connect on database {} to {}").format(
                sql.Identifier(base), name
            )
        )
        for table in tables:
            schema, _, _ = table.partition(".")
            connection.execute(
                sql.SQL("grant usage on schema {} to {}").format(
                    sql.Identifier(schema), name
                )
            )
            connection.execute(
                sql.SQL("grant select on {} to {}").format(_table(table), name)
            )
    except psycopg.errors.InsufficientPrivilege as error:
        raise CaptureError(
            "capture-permission-denied",
            f'role "{role}" cannot be given what a capture needs',
            detail=str(error).strip().splitlines()[0],
            hint="let the owner of the tables grant it, or name an owner's address.",
        ) from error


def ensure_publication(
    connection: Connection[Any], name: str, tables: Sequence[str], database: str
) -> Publication:
    """Make the publication, or add what is missing to ours.

    Raises:
        CaptureError: [capture-publication-missing] one that is not ours does not
            publish all that is needed.
    """
    from psycopg import sql  # noqa: PLC0415 - only work on captures needs it

    there = publication_of(connection, name)
    if there is None:
        with connection.transaction():
            connection.execute(
                sql.SQL("create publication {} for table {} with ({})").format(
                    sql.Identifier(name),
                    sql.SQL(", ").join(map(_table, tables)),
                    sql.SQL(_publishing(connection.info.server_version)),
                )
            )
            connection.execute(
                sql.SQL("comment on publication {} is {}").format(
                    sql.Identifier(name), sql.Literal(made_by(database))
                )
            )
    elif is_our_publication(connection, name, database):
        _mend_publication(connection, name, there, tables)
    found = publication_of(connection, name)
    lacking = [t for t in tables if found is None or t not in found.members]
    if found is None or lacking or found.partial or not found.every_operation:
        raise CaptureError(
            "capture-publication-missing",
            f'publication "{name}" does not publish all that is to be captured',
            detail=f"it lacks {', '.join(lacking)}."
            if lacking
            else "it holds back rows, columns or operations.",
            hint=f'alter publication "{name}" so that it does, or let headrace make '
            "one of its own.",
        )
    return found


def _mend_publication(
    connection: Connection[Any], name: str, there: Publication, tables: Sequence[str]
) -> None:
    """Let a publication of ours hold everything that it should."""
    from psycopg import sql  # noqa: PLC0415 - only work on captures needs it

    ours = sql.SQL("alter publication {} ").format(sql.Identifier(name))
    if not there.every_operation:
        options = sql.SQL(_publishing(connection.info.server_version))
        connection.execute(ours + sql.SQL("set ({})").format(options))
    for table in tables:
        if table in there.partial:
            connection.execute(ours + sql.SQL("drop table {}").format(_table(table)))
        if table in there.partial or table not in there.members:
            connection.execute(ours + sql.SQL("add table {}").format(_table(table)))


def _publishing(version: int) -> str:
    options = "publish = 'insert, update, delete, truncate'"
    options += ", publish_via_partition_root = true"
    # A snapshot reads generated columns, so changes have to carry them too.
    generated = ", publish_generated_columns = stored"
    return options + generated if version >= _GENERATED else options


def is_our_publication(connection: Connection[Any], name: str, database: str) -> bool:
    """Tell whether we made a publication."""
    row = connection.execute(
        "select obj_description(oid, 'pg_publication') from pg_publication "
        "where pubname = %s",
        [name],
    ).fetchone()
    return row == (made_by(database),)


def require_free_slot(connection: Connection[Any], name: str) -> None:
    """Refuse a slot that exists before the connector does.

    A snapshot is exact only in the transaction that makes its slot.

    Raises:
        CaptureError: [capture-name-taken] there is one.
    """
    if slot_of(connection, name) is not None:
        raise name_taken(
            "replication slot", name, "drop it, or choose another: --slot."
        )


def drop_slot(connection: Connection[Any], name: str) -> None:
    """Drop a slot once nobody reads from it; harmless if there is none.

    Raises:
        CaptureError: [capture-name-taken] somebody goes on reading from it.
    """
    import psycopg  # noqa: PLC0415 - only work on captures needs it

    deadline = time.monotonic() + _DROP_SECONDS
    while slot_of(connection, name) is not None:
        with suppress(psycopg.errors.ObjectInUse):
            connection.execute("select pg_drop_replication_slot(%s)", [name])
            return
        if time.monotonic() > deadline:
            raise name_taken("replication slot", name, "stop whoever reads from it.")
        time.sleep(0.1)


def drop_made(connection: Connection[Any], names: PgNames, database: str) -> list[str]:
    """Drop the slot, and the publication and the role if we made them."""
    from psycopg import sql  # noqa: PLC0415 - only work on captures needs it

    dropped = []
    if slot_of(connection, names.slot) is not None:
        drop_slot(connection, names.slot)
        dropped.append(f'replication slot "{names.slot}"')
    if is_our_publication(connection, names.publication, database):
        name = sql.Identifier(names.publication)
        connection.execute(sql.SQL("drop publication {}").format(name))
        dropped.append(f'publication "{names.publication}"')
    if _is_our_role(connection, names.role, database):
        role = sql.Identifier(names.role)
        connection.execute(sql.SQL("drop owned by {}").format(role))
        connection.execute(sql.SQL("drop role {}").format(role))
        dropped.append(f'role "{names.role}"')
    return dropped


def _table(name: str) -> Any:
    from psycopg import sql  # noqa: PLC0415 - only work on captures needs it

    schema, _, table = name.partition(".")
    return sql.Identifier(schema, table)
