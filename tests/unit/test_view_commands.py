"""`headrace view` and `headrace sql`: which server is asked, and what is printed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.serving import served
from support.harness.view_served import Served, pane, row

Out = pytest.CaptureFixture[str]

START = "2026-01-01T00:00:00.000000Z"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a user with an empty home and no project."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADRACE_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state" / "views"


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path / "store.sqlite")
    made.apply(row(1, "Ulm"), row(2, "Bonn"), pane("Ulm", START, 3))
    made.apply(row(1, "Köln"))
    with served(made.server):
        yield made
    made.store.close()


def announce(home: Path, pipeline: str, url: str, pid: int) -> None:
    place = home / pipeline
    place.mkdir(parents=True)
    (place / "server.json").write_text(json.dumps({"url": url, "pid": pid}))


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command in this process; give its exit code."""
    monkeypatch.setattr("sys.argv", ["headrace", *arguments])
    with pytest.raises(SystemExit) as exited:
        main()
    return int(exited.value.code or 0)


def test_a_row_is_printed_from_the_server_that_has_it(
    bank: Served, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    announce(home, "bank", bank.server.url, os.getpid())
    # Of a server that was killed; no process has this number.
    announce(home, "gone", "http://127.0.0.1:9", 2**22 + 1)

    assert run(monkeypatch, "view", "get", "accounts", "1") == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {"number": 1, "city": "Köln"}
    assert "as of batch 1" in err

    assert run(monkeypatch, "view", "get", "accounts", "3") == 1
    out, _ = capsys.readouterr()
    assert json.loads(out) is None

    assert run(monkeypatch, "view", "list", "--format", "json") == 0
    out, _ = capsys.readouterr()
    assert [told["view"] for told in json.loads(out)] == ["accounts", "counts"]


def test_rows_are_scanned_by_columns_and_as_they_were(
    bank: Served, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    url = ("--url", bank.server.url)

    assert run(monkeypatch, "view", "scan", "counts", "city=Ulm", *url) == 0
    out, _ = capsys.readouterr()
    assert json.loads(out)["n"] == 3

    was = ("--as-of-batch", "0", "--limit", "1")
    assert run(monkeypatch, "view", "scan", "accounts", *was, *url) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["city"] == "Ulm"
    assert "--cursor" in err


def test_the_name_of_two_views_needs_a_pipeline(
    bank: Served, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    assert run(monkeypatch, "view", "get", "accounts", "1") == 1
    assert "ViewError [view-unreachable]" in capsys.readouterr().err
    for name in ("bank", "shop"):
        announce(home, name, bank.server.url, os.getpid())

    assert run(monkeypatch, "view", "get", "accounts", "1") == 1
    assert "ViewError [view-ambiguous]" in capsys.readouterr().err
    asked = ("accounts", "1", "--pipeline", "bank")
    assert run(monkeypatch, "view", "get", *asked) == 0


def test_a_query_without_duckdb_names_what_to_install(
    bank: Served, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)

    assert run(monkeypatch, "sql", "select 1", "--url", bank.server.url) == 1

    assert "ViewError [duckdb-missing]" in capsys.readouterr().err


def test_a_query_prints_its_rows(
    bank: Served, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    pytest.importorskip("duckdb", reason="the extra `sql` is not installed")
    query = "select city, number from accounts order by number"
    url = ("--url", bank.server.url)

    assert run(monkeypatch, "sql", query, "--format", "json", *url) == 0

    out, err = capsys.readouterr()
    told = [json.loads(line) for line in out.splitlines()]
    assert told == [{"city": "Köln", "number": 1}, {"city": "Bonn", "number": 2}]
    assert "accounts as of batch 1" in err
