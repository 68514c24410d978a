"""Ask views and Delta tables in SQL, with DuckDB in this process."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.errors import ViewError
from headrace.views.answers import AsOf, Standing
from headrace.views.client import ViewClient
from headrace.views.delta_log import DeltaFiles, read_log

_PLAIN = {
    "string": "VARCHAR",
    "bigint": "BIGINT",
    "long": "BIGINT",
    "integer": "INTEGER",
    "int": "INTEGER",
    "short": "SMALLINT",
    "byte": "TINYINT",
    "double": "DOUBLE",
    "float": "FLOAT",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP",
    "date": "DATE",
    # As base64, which JSON has no bytes for.
    "binary": "VARCHAR",
}


@dataclass(frozen=True)
class Result:
    """What a query gives, and the batch that each view in it reflects."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    standings: dict[str, Standing]


def query(
    sql: str, clients: Mapping[str, ViewClient], deltas: Mapping[str, Path]
) -> Result:
    """Run a query over views and Delta tables.

    Views of one server are read as of the same batch, if they are embedded. The
    query reads nothing else: no other files, and nothing of the network.

    Args:
        sql: A query of DuckDB's SQL.
        clients: A client of its server for each view, by the view's name.
        deltas: The directories of Delta tables, by the names that the query uses.

    Raises:
        ViewError: [duckdb-missing]; [query-refused] DuckDB cannot run it;
            [delta-unreadable]; otherwise as `ViewClient.get`.
    """
    try:
        import duckdb  # noqa: PLC0415 - large, and needed here alone
    except ImportError as error:
        raise ViewError(
            "duckdb-missing",
            "DuckDB is not installed",
            hint="pip install 'headrace[sql]'.",
        ) from error
    with (
        duckdb.connect(
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            }
        ) as lake,
        tempfile.TemporaryDirectory() as scratch,
    ):
        try:
            named = {view: clients[view] for view in clients if _names(sql, view)}
            standings = _load_views(lake, named, Path(scratch))
            tables = [name for name in deltas if _names(sql, name)]
            for name in tables:
                _name_delta(lake, name, deltas[name])
            # What was loaded stays; nothing else can be opened from here on.
            places = [str(deltas[name]) for name in tables]
            lake.execute(f"SET allowed_directories = {_list(places)}")
            lake.execute("SET enable_external_access = false")
            lake.execute("SET lock_configuration = true")
            done = lake.execute(sql)
            columns = [told[0] for told in done.description or ()]
            return Result(columns, done.fetchall(), standings)
        except duckdb.Error as error:
            known = ", ".join(sorted({*clients, *deltas}))
            raise ViewError(
                "query-refused",
                "DuckDB cannot run the query",
                detail=str(error),
                hint=f"there are {known}." if known else None,
            ) from error


def _names(sql: str, name: str) -> bool:
    """Tell whether a query may mean a name; one that is loaded in vain does no harm."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", sql, re.I) is not None


def _load_views(
    lake: Any, clients: Mapping[str, ViewClient], scratch: Path
) -> dict[str, Standing]:
    standings: dict[str, Standing] = {}
    of_server: dict[str, Standing] = {}
    for name, client in clients.items():
        (told,) = [one for one in client.views() if one["view"] == name]
        is_embedded = told["store"] == "embedded"
        stands = of_server.get(client.url) if is_embedded else None
        stands = stands or client.scan(name, limit=1).standing
        as_of = AsOf(batch=stands.batch) if is_embedded else AsOf()
        if is_embedded:
            of_server[client.url] = stands
        file = scratch / f"{len(standings)}.json"
        _write(file, (row for _, row in client.rows(name, as_of=as_of)))
        columns = ", ".join(
            f"{_quoted(column)}: {_quoted(duckdb_type(kind))}"
            for column, kind in told["columns"].items()
        )
        lake.execute(
            f"CREATE TABLE {_identifier(name)} AS SELECT * FROM read_json("  # noqa: S608
            f"{_quoted(str(file))}, format = 'newline_delimited', "
            f"columns = {{{columns}}})"
        )
        standings[name] = stands
    return standings


def _name_delta(lake: Any, name: str, place: Path) -> None:
    """Let a name stand for the rows of a Delta table."""

    def read(parts: Iterable[Path]) -> list[dict[str, Any]]:
        files = _list(str(part) for part in parts)
        asked = f"SELECT to_json(COLUMNS(*)) FROM read_parquet({files})"  # noqa: S608
        done = lake.execute(asked)
        names = [told[0] for told in done.description]
        return [
            {n: json.loads(v) for n, v in zip(names, row, strict=True) if v is not None}
            for row in done.fetchall()
        ]

    found = read_log(place, read)
    gone = _identifier(f"deleted of {name}")
    lake.execute(f"CREATE TABLE {gone} (place VARCHAR, number BIGINT)")
    for file, numbers in found.deleted.items():
        told = (str(file), numbers)
        lake.execute(f"INSERT INTO {gone} SELECT ?, unnest(?::BIGINT[])", told)
    lake.execute(f"CREATE VIEW {_identifier(name)} AS {_delta_rows(found, gone)}")


def _delta_rows(found: DeltaFiles, gone: str) -> str:
    types = {f["name"]: duckdb_type(f["type"]) for f in found.schema["fields"]}
    if not found.files:
        nothing = ", ".join(
            f"NULL::{kind} AS {_identifier(n)}" for n, kind in types.items()
        )
        return f"SELECT {nothing} WHERE false"
    files = _list(str(file) for file, _ in found.files)
    told = "union_by_name = true, filename = true, file_row_number = true"
    there = (
        f"WHERE (filename, file_row_number) NOT IN (SELECT (place, number) FROM {gone})"  # noqa: S608
        if found.deleted
        else ""
    )
    chosen = []
    for name, kind in types.items():
        if name in found.partitioned_by:
            pairs = ", ".join(
                f"{_quoted(str(file))}: {_quoted_or_null(values.get(name))}"
                for (file, _), values in found.files.items()
            )
            column = f"(MAP {{{pairs}}}[filename])::{kind}"
        else:
            column = _identifier(name)
        chosen.append(f"{column} AS {_identifier(name)}")
    return f"SELECT {', '.join(chosen)} FROM read_parquet({files}, {told}) {there}"  # noqa: S608


def duckdb_type(kind: Any) -> str:
    """Give DuckDB's word for a type of Spark's, as SQL or JSON writes it.

    Example:
        >>> duckdb_type("array<struct<sku:string,n:bigint>>")
        'STRUCT("sku" VARCHAR, "n" BIGINT)[]'
    """
    match kind:
        case {"type": "array", "elementType": element}:
            found = f"{duckdb_type(element)}[]"
        case {"type": "struct", "fields": fields}:
            found = _struct((told["name"], told["type"]) for told in fields)
        case str() if kind.startswith("decimal("):
            found = kind.upper()
        case str() if kind.startswith("array<"):
            found = f"{duckdb_type(kind[6:-1])}[]"
        case str() if kind.startswith("struct<"):
            parts = [part.partition(":") for part in _split(kind[7:-1])]
            found = _struct((name, type_) for name, _, type_ in parts)
        case _:
            found = _PLAIN.get(str(kind), "JSON")
    return found


def _struct(fields: Iterable[tuple[str, Any]]) -> str:
    inside = (f"{_identifier(name)} {duckdb_type(kind)}" for name, kind in fields)
    return f"STRUCT({', '.join(inside)})"


def _split(text: str) -> list[str]:
    """Split at the commas that stand in no brackets."""
    parts, depth, last = [], 0, 0
    for found in re.finditer(r"[<>(),]", text):
        if found[0] in "<(":
            depth += 1
        elif found[0] in ">)":
            depth -= 1
        elif depth == 0:
            parts.append(text[last : found.start()])
            last = found.end()
    return [*parts, text[last:]]


def _write(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with file.open("w") as out:
        for row in rows:
            out.write(json.dumps(row))
            out.write("\n")


def _identifier(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _quoted(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"


def _quoted_or_null(text: str | None) -> str:
    return "NULL" if text is None else _quoted(text)


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(_quoted(text) for text in texts)}]"
