"""Views over HTTP: what is answered, what is refused and how it is named."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from headrace import ViewError
from headrace.services.ports import LOOPBACK
from headrace.serving import served
from headrace.views import AsOf, Update, ViewClient
from headrace.views.serving import ViewServer
from support.harness.view_served import HOUR_MS, Served, pane, row


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path / "store.sqlite")
    with served(made.server):
        yield made
    made.store.close()


@pytest.fixture
def client(bank: Served) -> Iterator[ViewClient]:
    with ViewClient(bank.server.url) as client:
        yield client


def test_a_read_names_the_batch_that_it_reflects(
    bank: Served, client: ViewClient
) -> None:
    bank.apply(row(1, "Ulm"), row(2, "Bonn"))
    bank.apply(row(2, "Köln"), ("accounts", b"1", None))

    gone, there = client.get("accounts", 1), client.get("accounts", 2)

    assert (gone.row, gone.standing.batch) == (None, 1)
    assert there.row == {"number": 2, "city": "Köln"}
    assert [told["view"] for told in client.views()] == ["accounts", "counts"]


def test_a_view_is_asked_as_of_a_batch_and_as_of_a_time(
    bank: Served, client: ViewClient
) -> None:
    for hour, city in enumerate(("Ulm", "Bonn", "Köln")):
        bank.apply(row(1, city), at=hour * HOUR_MS)

    first = client.get("accounts", 1)
    assert first.standing.at is not None
    at = first.standing.at - timedelta(minutes=30)
    before = client.get("accounts", 1, as_of=AsOf(time=at))
    oldest = client.scan("accounts", as_of=AsOf(batch=0))

    assert (before.row or {})["city"] == "Bonn"
    assert before.standing.batch == 1
    assert [row["city"] for _, row in oldest.rows] == ["Ulm"]


def test_a_scan_goes_on_as_of_its_batch_though_rows_change(
    bank: Served, client: ViewClient
) -> None:
    bank.apply(*(row(number, "Ulm") for number in range(10)))

    page = client.scan("accounts", limit=4)
    bank.apply(*(row(number, "Bonn") for number in range(20)), ("accounts", b"5", None))
    rest = client.scan("accounts", limit=100, cursor=page.cursor)

    assert [key for key, _ in page.rows + rest.rows] == [str(n) for n in range(10)]
    assert {row["city"] for _, row in rest.rows} == {"Ulm"}
    assert (rest.standing, rest.cursor) == (page.standing, None)
    assert len(list(client.rows("accounts"))) == 19


def test_panes_are_found_by_the_columns_of_their_key(
    bank: Served, client: ViewClient
) -> None:
    starts = ["2026-01-01T00:00:00.000000Z", "2026-01-01T00:05:00.000000Z"]
    bank.apply(*(pane(c, s, n) for n, c in enumerate(("Ulm", "Ul")) for s in starts))

    one = client.get(
        "counts", {"city": "Ulm", "window_start": "2026-01-01T01:05+01:00"}
    )
    some = client.scan("counts", {"city": "Ul"})

    assert one.row == {"city": "Ulm", "n": 0}
    assert one.key == '{"city":"Ulm","window_start":"2026-01-01T00:05:00.000000Z"}'
    assert client.get("counts", one.key).row == one.row
    assert [row["n"] for _, row in some.rows] == [1, 1]


@pytest.mark.parametrize(
    ("view", "key", "slug"),
    [
        ("nothing", "1", "view-unknown"),
        ("accounts", "one", "view-key-mismatch"),
        ("accounts", str(2**63), "view-key-mismatch"),
        ("accounts", {"city": "Ulm"}, "view-key-mismatch"),
        ("counts", {"city": "Ulm"}, "view-key-mismatch"),
        ("counts", "Ulm", "view-key-mismatch"),
        ("counts", {"city": "Ulm", "window_start": "noon"}, "view-key-mismatch"),
    ],
)
def test_what_is_not_there_is_named(
    bank: Served, client: ViewClient, view: str, key: Any, slug: str
) -> None:
    bank.apply(row(1, "Ulm"))

    with pytest.raises(ViewError) as caught:
        client.get(view, key)

    assert caught.value.slug == slug


def test_a_scan_by_a_later_column_alone_is_refused(
    bank: Served, client: ViewClient
) -> None:
    bank.apply(row(1, "Ulm"))

    with pytest.raises(ViewError, match="comes before") as caught:
        client.scan("counts", {"window_start": "2026-01-01T00:00Z"})

    assert caught.value.slug == "view-key-mismatch"


def test_a_view_without_a_batch_says_so(bank: Served, client: ViewClient) -> None:
    for ask in (client.get, client.scan):
        with pytest.raises(ViewError) as caught:
            ask("accounts", 1)
        assert caught.value.slug == "view-not-ready"


def test_reads_beyond_the_history_are_refused(bank: Served, client: ViewClient) -> None:
    bank.apply(*(row(n, "Ulm") for n in range(3)), at=0)
    page = client.scan("accounts", limit=1)
    watch = client.watch("accounts")
    first = next(watch)
    watch.close()
    for hour in range(1, 6):
        bank.apply(row(1, f"city {hour}"), at=hour * HOUR_MS)

    oldest = client.get("accounts", 1, as_of=AsOf(batch=3))
    assert (oldest.row or {})["city"] == "city 3"
    asked: list[Callable[[], object]] = [
        lambda: client.get("accounts", 1, as_of=AsOf(batch=2)),
        lambda: client.get("accounts", 1, as_of=AsOf(time=first.standing.at)),
        lambda: client.scan("accounts", cursor=page.cursor),
        lambda: next(client.watch("accounts", after=first.id)),
    ]
    for ask in asked:
        with pytest.raises(ViewError) as caught:
            ask()
        assert caught.value.slug == "view-history-short"
    with pytest.raises(ViewError) as caught:
        client.get("accounts", 1, as_of=AsOf(batch=99))
    assert caught.value.slug == "view-batch-unknown"


def test_a_watch_goes_on_where_the_line_broke(bank: Served, client: ViewClient) -> None:
    bank.apply(row(1, "Ulm"), row(2, "Ulm"))
    heard = []
    watch = client.watch("accounts", with_rows=True)
    heard += [next(watch) for _ in range(3)]
    watch.close()
    bank.apply(row(1, "Bonn"), row(2, "Bonn"), ("accounts", b"3", None))
    again = client.watch("accounts", after=heard[-1].id)
    heard.append(next(again))
    again.close()
    bank.apply(row(1, "Köln"), ("accounts", b"2", None))
    third = client.watch("accounts", after=heard[-1].id)
    heard += [next(third) for _ in range(3)]
    third.close()

    told = [(u.op, u.key, (u.row or {}).get("city"), u.standing.batch) for u in heard]
    assert told == [
        ("row", "1", "Ulm", 0),
        ("row", "2", "Ulm", 0),
        ("ready", "", None, 0),
        ("upsert", "1", "Bonn", 1),
        ("upsert", "2", "Bonn", 1),
        ("upsert", "1", "Köln", 2),
        ("delete", "2", None, 2),
    ]


def test_a_watch_of_a_quiet_view_is_not_forgotten(
    bank: Served, client: ViewClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.views.watching.HEARTBEAT_SECONDS", 0.05)
    bank.apply(row(1, "Ulm"), at=0)
    heard = client._hear("counts", None, with_rows=False)
    first = next(heard)
    for hour in range(1, 5):
        bank.apply(row(1, f"city {hour}"), at=hour * HOUR_MS)
        # An id without a change tells how far the watch has come.
        while int(str(next(heard)).split(".")[1]) <= bank.batch:
            pass
    bank.apply(pane("Ulm", "2026-01-01T00:00:00.000000Z", 1), at=5 * HOUR_MS)

    told = next(one for one in heard if isinstance(one, Update))

    heard.close()
    assert isinstance(first, Update)
    assert (first.op, told.op, told.standing.batch) == ("ready", "upsert", 5)


def test_a_store_that_began_anew_does_not_pretend_to_go_on(
    bank: Served, client: ViewClient
) -> None:
    bank.apply(row(1, "Ulm"))
    watch = client.watch("accounts")
    first = next(watch)
    watch.close()
    bank.store.clear()
    bank.apply(row(1, "Ulm"))

    with pytest.raises(ViewError) as caught:
        next(client.watch("accounts", after=first.id))

    assert caught.value.slug == "view-history-short"


def ask(bank: Served, method: str, path: str, **headers: str) -> tuple[int, Any]:
    line = http.client.HTTPConnection(LOOPBACK, bank.server.server_port, timeout=10)
    try:
        line.request(method, path, headers=headers)
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        line.close()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_nothing_can_be_changed(bank: Served, method: str) -> None:
    status, told = ask(bank, method, "/views/accounts/get?key=1")

    assert status == 405
    assert told["error"]["slug"] == "view-read-only"


@pytest.mark.parametrize(
    "path",
    [
        "/views/accounts/scan?limit=0",
        "/views/accounts/scan?limit=1000000",
        "/views/accounts/scan?limit=-1",
        "/views/accounts/scan?cursor=mine",
        "/views/accounts/scan?colour=red",
        "/views/accounts/get?key=1&as_of=yesterday",
        "/views/accounts/get?key=1&as_of=2026-01-01T00:00:00",
        "/views/accounts/get?key=1&as_of_batch=x",
        "/views/accounts/get?key=1&as_of_batch=1&as_of=2026-01-01T00:00:00Z",
        "/views/accounts/watch?after=mine",
        "/views/accounts/drop",
        "/../etc/passwd",
        "/views/accounts/get?key=" + "1" * 10_000,
    ],
)
def test_a_request_that_is_none_is_refused(bank: Served, path: str) -> None:
    bank.apply(row(1, "Ulm"))

    status, told = ask(bank, "GET", path)

    assert status == 400
    assert told["error"]["slug"] == "view-request-refused"


def test_a_page_of_the_web_cannot_ask_under_its_own_name(bank: Served) -> None:
    status, told = ask(bank, "GET", "/views", Host="evil.example:80")

    assert status == 400
    assert told["error"]["slug"] == "view-request-refused"


def test_a_question_with_a_body_is_refused(bank: Served) -> None:
    status, told = ask(bank, "GET", "/views", **{"Content-Length": "0"})

    assert (status, told["error"]["slug"]) == (400, "view-request-refused")


def test_an_answer_has_an_end(bank: Served, client: ViewClient) -> None:
    bank.apply(*(row(number, "x" * 1_000_000) for number in range(10)))

    page = client.scan("accounts", limit=10)

    assert 1 <= len(page.rows) < 10
    assert len(list(client.rows("accounts"))) == 10


def test_a_server_that_is_gone_is_named(bank: Served) -> None:
    other = ViewServer(bank.views, {})
    url = other.url
    other.server_close()
    with ViewClient(url) as client:
        for ask in (client.views, lambda: next(client.watch("accounts"))):
            with pytest.raises(ViewError) as caught:
                ask()
            assert caught.value.slug == "view-unreachable"
