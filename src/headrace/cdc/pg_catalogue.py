"""What PostgreSQL's catalogue says about tables, publications and slots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.errors import CaptureError

if TYPE_CHECKING:
    from psycopg import Connection

_SECONDS = 10

_TABLES = """
select n.nspname || '.' || c.relname, c.relkind::text, c.relreplident::text,
  coalesce(
    (select array_agg(a.attname::text order by k.place)
     from pg_index i
     cross join lateral unnest(i.indkey) with ordinality k(number, place)
     join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
     where i.indrelid = c.oid and i.indisprimary), '{}'),
  c.relpersistence = 'p'
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname || '.' || c.relname = any(%s)
"""

_PUBLICATION = """
select oid::text, xmin::text, puballtables,
  pubinsert and pubupdate and pubdelete and pubtruncate
from pg_publication where pubname = %s
"""

_MEMBERS = """
select n.nspname || '.' || c.relname, r.oid::text, r.xmin::text,
  r.prqual is not null or r.prattrs is not null
from pg_publication_rel r
join pg_publication p on p.oid = r.prpubid
join pg_class c on c.oid = r.prrelid
join pg_namespace n on n.oid = c.relnamespace
where p.pubname = %s
"""

_PUBLISHED = """
select distinct t.schemaname || '.' || t.tablename, c.oid::text
from pg_publication_tables t
join pg_namespace n on n.nspname = t.schemaname
join pg_class c on c.relnamespace = n.oid and c.relname = t.tablename
where t.pubname = %s
"""

_SLOT = """
select database, plugin, active, wal_status, coalesce(to_jsonb(s) ->>
    'invalidation_reason', to_jsonb(s) ->> 'conflicting'),
  restart_lsn - '0/0', confirmed_flush_lsn - '0/0',
  pg_current_wal_lsn() - restart_lsn, pg_current_wal_lsn() - confirmed_flush_lsn
from pg_replication_slots s where slot_name = %s
"""


@dataclass(frozen=True)
class TableFacts:
    """A table as the catalogue describes it."""

    name: str
    kind: str
    replica_identity: str
    key: tuple[str, ...]
    permanent: bool


@dataclass(frozen=True)
class Publication:
    """A publication: all it publishes, and by which entries it can be known again.

    An entry's name is its row's own number with the transaction that wrote it: both
    change when it is dropped and made anew, and the second when it is altered.
    """

    entry: str
    every_operation: bool
    members: dict[str, str]
    partial: frozenset[str]


@dataclass(frozen=True)
class Slot:
    """A replication slot; LSNs are numbers, the last two count bytes of WAL."""

    database: str | None
    plugin: str | None
    active: bool
    wal_status: str | None
    reason: str | None
    restart_lsn: int | None
    confirmed_lsn: int | None
    held_bytes: int | None
    behind_bytes: int | None

    @property
    def is_lost(self) -> bool:
        """Whether PostgreSQL has removed WAL that the slot still needed."""
        return self.wal_status == "lost" or self.restart_lsn is None


@contextmanager
def connected(url: str, name: str) -> Iterator[Connection[Any]]:
    """Open a database, and commit each statement by itself.

    Raises:
        CaptureError: [database-unreachable] it does not let us in.
    """
    import psycopg  # noqa: PLC0415 - only work on captures needs it

    try:
        connection = psycopg.connect(url, autocommit=True, connect_timeout=_SECONDS)
    except psycopg.OperationalError as error:
        raise CaptureError(
            "database-unreachable",
            f'database "{name}" does not let us in',
            detail=str(error).strip().splitlines()[-1],
            hint="`headrace status` shows what runs; on our own server, make the "
            "database with `create database`, and name others in the settings.",
        ) from error
    with connection:
        yield connection


def tables_of(
    connection: Connection[Any], names: Sequence[str]
) -> dict[str, TableFacts]:
    """Describe those of the named tables that exist."""
    rows = connection.execute(_TABLES, [list(names)]).fetchall()
    return {
        name: TableFacts(name, kind, identity, tuple(key), permanent)
        for name, kind, identity, key, permanent in rows
    }


def publication_of(connection: Connection[Any], name: str) -> Publication | None:
    """Describe a publication, if it exists."""
    row = connection.execute(_PUBLICATION, [name]).fetchone()
    if row is None:
        return None
    oid, xmin, _all_tables, every_operation = row
    members = dict(connection.execute(_PUBLISHED, [name]).fetchall())
    partial = set()
    for table, entry, written, filtered in connection.execute(_MEMBERS, [name]):
        members[table] = f"{entry}:{written}"
        if filtered:
            partial.add(table)
    return Publication(f"{oid}:{xmin}", every_operation, members, frozenset(partial))


def slot_of(connection: Connection[Any], name: str) -> Slot | None:
    """Describe a replication slot, if it exists."""
    row = connection.execute(_SLOT, [name]).fetchone()
    if row is None:
        return None
    *facts, restart, confirmed, held, behind = row
    return Slot(*facts, *(_whole(n) for n in (restart, confirmed, held, behind)))


def missing_rights(
    connection: Connection[Any], role: str, tables: Sequence[str]
) -> list[str]:
    """Say what a role may not do that a capture needs."""
    row = connection.execute(
        "select rolcanlogin, rolreplication or rolsuper, "
        "has_database_privilege(rolname, current_database(), 'connect') "
        "from pg_roles where rolname = %s",
        [role],
    ).fetchone()
    if row is None:
        return [f'there is no role "{role}"']
    wanted = zip(("LOGIN", "REPLICATION", "CONNECT"), row, strict=True)
    found = [
        f'role "{role}" has no {right}' for right, granted in wanted if not granted
    ]
    for table in tables:
        schema, _, name = table.partition(".")
        may = connection.execute(
            "select has_schema_privilege(%(role)s, %(schema)s, 'usage') and "
            "has_table_privilege(%(role)s, format('%%I.%%I', %(schema)s::text, "
            "%(name)s::text), 'select')",
            {"role": role, "schema": schema, "name": name},
        ).fetchone()
        if not (may and may[0]):
            found.append(f'role "{role}" may not select from {table}')
    return found


def _whole(number: Any) -> int | None:
    return None if number is None else int(number)
