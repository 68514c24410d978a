"""What PostgreSQL's catalogue says about tables, publications and slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import Connection

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
  coalesce(to_jsonb(r) ->> 'prqual', to_jsonb(r) ->> 'prattrs') is not null
from pg_publication_rel r
join pg_publication p on p.oid = r.prpubid
join pg_class c on c.oid = r.prrelid
join pg_namespace n on n.oid = c.relnamespace
where p.pubname = %s
"""

# The view pg_publication_tables says the same, and waits for every lock on a table.
_PUBLISHED = """
with recursive publication as (
  select oid, puballtables, pubviaroot from pg_publication where pubname = %s
), member(relation) as (
  select c.oid from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  join publication p on {whole}
  where c.relkind in ('r', 'p') and c.relpersistence = 'p'
    and n.nspname not in ('pg_catalog', 'information_schema')
  union
  select r.prrelid from pg_publication_rel r join publication p on p.oid = r.prpubid
), published(relation) as (
  select relation from member
  union
  select i.inhrelid from published
  join pg_inherits i on i.inhparent = published.relation
  join pg_class c on c.oid = i.inhrelid and c.relispartition
  join publication p on not p.pubviaroot
)
select n.nspname || '.' || c.relname, c.oid::text
from published
join pg_class c on c.oid = published.relation
join pg_namespace n on n.oid = c.relnamespace
cross join publication p
where case when p.pubviaroot
  then not (c.relispartition and exists (
    select from pg_inherits i join member m on m.relation = i.inhparent
    where i.inhrelid = c.oid))
  else c.relkind = 'r' end
"""

_WHOLE = "p.puballtables"
_WHOLE_SCHEMAS = """(p.puballtables or exists (
  select from pg_publication_namespace s
  where s.pnpubid = p.oid and s.pnnspid = c.relnamespace))"""

# Publications of schemas, row filters and lists of columns came with it.
_SCHEMAS = 150000

_SLOT = """
select database, plugin, active, wal_status, coalesce(to_jsonb(s) ->>
    'invalidation_reason', to_jsonb(s) ->> 'conflicting'),
  restart_lsn - '0/0', confirmed_flush_lsn - '0/0',
  pg_current_wal_lsn() - restart_lsn, pg_current_wal_lsn() - confirmed_flush_lsn
from pg_replication_slots s where slot_name = %s
"""


# As PostgreSQL decides it: by row_security_active, if that could be asked of others.
_HIDDEN = """
select n.nspname || '.' || c.relname
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
left join pg_roles r on r.rolname = %(role)s
where n.nspname || '.' || c.relname = any(%(tables)s) and c.relrowsecurity
  and not coalesce(r.rolsuper or r.rolbypassrls, false)
  and (c.relforcerowsecurity
    or not coalesce(pg_has_role(r.oid, c.relowner, 'usage'), false))
order by 1
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
    has_schemas = connection.info.server_version >= _SCHEMAS
    whole = _WHOLE_SCHEMAS if has_schemas else _WHOLE
    published = connection.execute(_PUBLISHED.format(whole=whole).encode(), [name])
    members = dict(published.fetchall())
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


def tables_hidden_from(
    connection: Connection[Any], role: str, tables: Sequence[str]
) -> list[str]:
    """Give the tables of which a role may be shown some rows alone.

    A role that does not exist is one without any right.
    """
    rows = connection.execute(_HIDDEN, {"role": role, "tables": list(tables)})
    return [table for (table,) in rows.fetchall()]


def open_transactions(connection: Connection[Any]) -> tuple[int, int]:
    """Give the lowest number of a transaction that writes, and the next to be given."""
    row = connection.execute(
        "select pg_snapshot_xmin(now)::text, pg_snapshot_xmax(now)::text "
        "from pg_current_snapshot() as now"
    ).fetchone()
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def _whole(number: Any) -> int | None:
    return None if number is None else int(number)
