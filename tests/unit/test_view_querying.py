"""Views and Delta tables in SQL: types, batches, and what a query cannot reach."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import pytest

from headrace import Pipeline, ViewError, digits, event, kafka
from headrace.serving import served
from headrace.views import ViewClient
from headrace.views.querying import query
from headrace.views.serving import ViewServer
from headrace.views.store import Applied, ViewStore

duckdb: Any = pytest.importorskip("duckdb", reason="the extra `sql` is not installed")


@event(key="id")
class Account:
    id: int
    city: str
    amount: Annotated[Decimal, digits(12, 2)]
    at: datetime
    tags: list[str]
    note: str | None = None


def account(id_: int, city: str, tags: list[str]) -> bytes:
    amount = 10 * id_ + 0.25
    row = {"id": id_, "city": city, "amount": amount, "at": "2026-01-01T00:00:00.5Z"}
    return json.dumps(row | {"tags": tags, "note": None}).encode()


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[dict[str, ViewClient]]:
    bank = Pipeline("bank")
    accounts = bank.table(kafka("accounts", Account))
    bank.view("accounts", accounts)
    bank.view("cities", accounts.select("id", "city"))
    views = {view.name: view for view in bank.views}
    store = ViewStore(tmp_path / "s.sqlite", {n: v.history for n, v in views.items()})
    rows = [
        ("accounts", b"1", account(1, "Ulm", ["a", "b"])),
        ("accounts", b"2", account(2, "Köln", [])),
        ("cities", b"1", b'{"id": 1, "city": "Ulm"}'),
    ]
    store.apply(Applied("q", 7, 0, rows, {}, {}))
    server = ViewServer(views, dict.fromkeys(views, store.reading), store=store)
    with served(server), ViewClient(server.url) as client:
        yield dict.fromkeys(views, client)
    store.close()


def test_views_are_joined_with_their_types(clients: dict[str, ViewClient]) -> None:
    result = query(
        "select a.id, a.city, a.amount, a.at, len(a.tags) as tags, a.note "
        "from accounts a join cities using (id) order by 1",
        clients,
        {},
    )

    assert result.columns == ["id", "city", "amount", "at", "tags", "note"]
    at = datetime(2026, 1, 1, 0, 0, 0, 500_000)
    assert result.rows == [(1, "Ulm", Decimal("10.25"), at, 2, None)]
    assert {view: s.batch for view, s in result.standings.items()} == {
        "accounts": 7,
        "cities": 7,
    }


def delta(place: Path) -> Path:
    """Write a Delta table by hand: three commits, two columns, one of them apart."""
    log = place / "_delta_log"
    log.mkdir(parents=True)
    lake = duckdb.connect()
    for number, ids in enumerate(("1, 2", "3", "4")):
        rows = f"select unnest([{ids}]) as id"
        lake.execute(f"copy ({rows}) to '{place}/part-{number}.parquet'")
    fields = [
        {"name": "id", "type": "integer", "nullable": True, "metadata": {}},
        {"name": "day", "type": "date", "nullable": True, "metadata": {}},
    ]
    schema = json.dumps({"type": "struct", "fields": fields})
    meta = {"id": "t", "schemaString": schema, "partitionColumns": ["day"]}
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}

    def add(number: int, day: str | None) -> dict[str, object]:
        path = f"part-{number}.parquet"
        return {"add": {"path": path, "partitionValues": {"day": day}}}

    commits: list[list[dict[str, object]]] = [
        [{"protocol": protocol}, {"metaData": meta}, add(0, "2026-01-01")],
        [add(1, None)],
        [{"remove": {"path": "part-0.parquet"}}, add(2, "2026-01-02")],
    ]
    for number, actions in enumerate(commits):
        text = "\n".join(json.dumps(action) for action in actions)
        (log / f"{number:020}.json").write_text(text)
    return place


def test_a_delta_table_has_the_files_that_its_log_names(tmp_path: Path) -> None:
    place = delta(tmp_path / "lake")

    rows = query("select id, day::text from sold order by id", {}, {"sold": place}).rows

    assert rows == [(3, None), (4, "2026-01-02")]


def test_a_delta_table_is_read_from_its_checkpoint_on(tmp_path: Path) -> None:
    place = delta(tmp_path / "lake")
    log = place / "_delta_log"
    first = [log / f"{number:020}.json" for number in (0, 1)]
    lines = [json.loads(t) for f in first for t in f.read_text().splitlines()]
    kinds = ("protocol", "metaData", "add")
    rows = [{kind: line.get(kind) for kind in kinds} for line in lines]
    told = tmp_path / "actions.json"
    told.write_text("\n".join(json.dumps(row) for row in rows))
    lake = duckdb.connect()
    checkpoint = log / f"{1:020}.checkpoint.parquet"
    lake.execute(f"copy (from read_json('{told}')) to '{checkpoint}'")
    (log / "_last_checkpoint").write_text('{"version": 1, "size": 4}')
    for file in first:
        file.unlink()

    found = query("select id from sold order by id", {}, {"sold": place}).rows

    assert found == [(3,), (4,)]


@pytest.mark.parametrize(
    "action",
    [
        {"protocol": {"minReaderVersion": 3, "readerFeatures": ["columnMapping"]}},
        {
            "add": {
                "path": "part-1.parquet",
                "deletionVector": {
                    "storageType": "p",
                    "pathOrInlineDv": "/nowhere/vector.bin",
                },
            }
        },
        {
            "metaData": {
                "schemaString": "{}",
                "configuration": {"delta.columnMapping.mode": "name"},
            }
        },
    ],
)
def test_a_delta_table_that_would_be_misread_is_refused(
    tmp_path: Path, action: dict[str, object]
) -> None:
    place = delta(tmp_path / "lake")
    (place / "_delta_log" / f"{3:020}.json").write_text(json.dumps(action))

    with pytest.raises(ViewError) as caught:
        query("select * from sold", {}, {"sold": place})

    assert caught.value.slug == "delta-unreadable"


@pytest.mark.parametrize(
    "text",
    [
        "select * from nothing",
        "select id frm accounts",
        "select * from read_text('/etc/passwd')",
        "select * from '/etc/passwd'",
        "copy accounts to '/tmp/stolen.csv'",
        "install httpfs",
        "set enable_external_access = true",
    ],
)
def test_a_query_reaches_nothing_but_what_it_names(
    clients: dict[str, ViewClient], text: str
) -> None:
    with pytest.raises(ViewError) as caught:
        query(text, clients, {})

    assert caught.value.slug == "query-refused"
