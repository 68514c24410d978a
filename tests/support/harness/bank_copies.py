"""What the copies of a bank's tables hold, in the form of the database's own rows."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import redis
from opensearchpy import OpenSearch, helpers

from support.harness.bank_at_work import TABLES
from support.harness.rig import PIPELINES

LAKE = PIPELINES / "bank_lake.py"

Rows = dict[Any, tuple[Any, ...]]

COLUMNS = {
    table: [part.split()[0] for part in columns.split(", ")]
    for table, columns in TABLES.items()
}


def alike(table: str, row: Iterable[Any]) -> tuple[Any, ...]:
    """Give a row's values in one form, whichever system they come from."""
    kinds = [part.split()[1] for part in TABLES[table].split(", ")]
    return tuple(
        None if value is None else _FORMS.get(kind, _as_it_is)(value)
        for kind, value in zip(kinds, row, strict=True)
    )


def _as_it_is(value: Any) -> Any:
    return value


def _moment(value: Any) -> datetime:
    read = datetime.fromisoformat(value) if isinstance(value, str) else value
    return read.astimezone(UTC)


def _bytes(value: Any) -> bytes:
    return base64.b64decode(value) if isinstance(value, str) else bytes(value)


def _document(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


_FORMS: dict[str, Callable[[Any], Any]] = {
    "numeric(12,2)": lambda value: Decimal(str(value)).quantize(Decimal("0.01")),
    "timestamptz": _moment,
    "bytea": _bytes,
    "jsonb": _document,
}


def rows_of(table: str, documents: Iterable[dict[str, Any]]) -> Rows:
    """Give documents as rows, by key."""
    names = COLUMNS[table]
    found = [alike(table, (d.get(name) for name in names)) for d in documents]
    assert len({row[0] for row in found}) == len(found), "a key is there twice"
    return {row[0]: row for row in found}


def in_database(address: str, table: str) -> Rows:
    """Give the rows of a table, here or in the warehouse."""
    query = f"select {', '.join(COLUMNS[table])} from {table}"  # noqa: S608
    with psycopg.connect(address) as connection:
        found = connection.execute(query)
        return {row[0]: alike(table, row) for row in found}


def in_redis(address: str, table: str) -> Rows:
    """Give the rows of a table that Redis has."""
    with redis.Redis.from_url(address) as client:
        keys = list(client.scan_iter(f"bank:{table}:*", count=1000))
        texts = [
            text
            for start in range(0, len(keys), 1000)
            for text in client.mget(keys[start : start + 1000])
        ]
    # Decimals as texts: a float would round them.
    documents = [json.loads(text, parse_float=str) for text in texts if text]
    return rows_of(table, map(_floats, documents))


def in_opensearch(address: str, table: str) -> Rows:
    """Give the rows of a table that OpenSearch has."""
    client = OpenSearch(address, timeout=60)
    try:
        client.indices.refresh(index=f"bank-{table}")
        found = helpers.scan(client, index=f"bank-{table}", size=2000)
        return rows_of(table, [hit["_source"] for hit in found])
    finally:
        client.close()


def in_lake(directory: Path) -> dict[str, Rows]:
    """Give the rows of all tables of the lake, which another process reads."""
    command = [sys.executable, str(LAKE), str(directory), *TABLES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return {
        table: rows_of(table, documents)
        for table, documents in map(json.loads, _data(done.stdout))
    }


def differences(wanted: Rows, found: Rows) -> list[str]:
    """Say where a copy differs, in a few lines."""
    told = [
        f"{key}: {found.get(key)} instead of {wanted.get(key)}"
        for key in wanted.keys() | found.keys()
        if found.get(key) != wanted.get(key)
    ]
    return [f"{len(told)} rows differ", *(line[:300] for line in told[:5])] * bool(told)


def _floats(document: dict[str, Any]) -> dict[str, Any]:
    risk = document.get("risk")
    return document if risk is None else document | {"risk": float(risk)}


def _data(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.startswith("["))
