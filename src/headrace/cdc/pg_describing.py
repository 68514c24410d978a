"""An event's class for the rows of a PostgreSQL table, from the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.cdc.classes import Column, class_text
from headrace.cdc.pg_catalogue import tables_of
from headrace.errors import CaptureError

if TYPE_CHECKING:
    from psycopg import Connection

_COLUMNS = """
select a.attname, format_type(t.oid, a.atttypmod), t.typname, t.typtype::text,
  a.attnotnull, a.atttypmod, t.typcategory = 'A',
  (select array_agg(e.enumlabel::text order by e.enumsortorder)
   from pg_enum e where e.enumtypid = t.oid)
from pg_attribute a
join pg_class c on c.oid = a.attrelid
join pg_namespace n on n.oid = c.relnamespace
join pg_type d on d.oid = a.atttypid
join pg_type t on t.oid = case when d.typtype = 'd' then d.typbasetype else d.oid end
where n.nspname || '.' || c.relname = %s and a.attnum > 0 and not a.attisdropped
order by a.attnum
"""

# What a change carries, as a type hint.
_HINTS = {
    **dict.fromkeys(("int2", "int4", "int8", "oid"), "int"),
    **dict.fromkeys(("float4", "float8"), "float"),
    **dict.fromkeys(("text", "varchar", "bpchar", "citext", "name", "char"), "str"),
    **dict.fromkeys(("json", "jsonb", "xml", "hstore", "inet", "cidr"), "str"),
    **dict.fromkeys(("macaddr", "macaddr8", "ltree", "tsvector", "interval"), "str"),
    **dict.fromkeys(("time", "timetz", "bit", "varbit"), "str"),
    **dict.fromkeys(("timestamp", "timestamptz"), "datetime"),
    "bool": "bool",
    "date": "date",
    "uuid": "UUID",
    "bytea": "bytes",
    "money": "Annotated[Decimal, digits(19, 2)]",
    "numeric": "Decimal",
}


def describe_table(connection: Connection[Any], database: str, table: str) -> str:
    """Give an event's class for a table's rows, as Python.

    Raises:
        CaptureError: [capture-table-missing] there is no such table.
    """
    facts = tables_of(connection, [table]).get(table)
    if facts is None:
        raise CaptureError(
            "capture-table-missing",
            f'database "{database}" has no table {table}',
            hint="name tables with their schemas, as in public.users.",
        )
    columns = [_column(row) for row in connection.execute(_COLUMNS, [table])]
    return class_text(table, columns, facts.key)


def _column(row: tuple[Any, ...]) -> Column:
    name, shown, type_name, kind, required, modifier, is_array, labels = row
    if kind == "e":
        return Column(name, shown, None, required, tuple(labels))
    hint = _HINTS.get(type_name)
    if is_array:
        inside = _HINTS.get(type_name.removeprefix("_"))
        hint = None if inside is None else f"list[{inside} | None]"
    elif type_name == "numeric" and modifier > 0:
        hint = _decimal(modifier)
    return Column(name, shown, hint, required)


def _decimal(modifier: int) -> str | None:
    """Read digits from a type's modifier; some of PostgreSQL's no engine holds."""
    precision = ((modifier - 4) >> 16) & 0xFFFF
    scale = ((modifier - 4) & 0x7FF ^ 1024) - 1024
    if not (precision <= 38 and 0 <= scale <= precision):
        return None
    return f"Annotated[Decimal, digits({precision}, {scale})]"
