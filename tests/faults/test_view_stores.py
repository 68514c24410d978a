"""Views that are kept in Redis and in PostgreSQL are read there, by the same words."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from headrace import Pipeline, ViewError, event, kafka, minutes, tumbling
from headrace.log import administer, writer_settings
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics
from headrace.services.addresses import Addresses
from headrace.views import AsOf, ViewClient
from headrace.views.keeping import Surroundings, keeping
from support.harness.numbered_events import create

STORES = ["redis", "postgres"]


@event(key="id", time="at")
class Account:
    id: int
    city: str
    at: datetime
    note: str | None = None


def pipeline(name: str) -> Pipeline:
    made = Pipeline(name)
    accounts = made.table(kafka(f"{name}.in", Account), name="accounts")
    events = made.read(kafka(f"{name}.events", Account))
    counts = events.window(
        "counts", tumbling(minutes(5)), by="city", late="drop", n="count(*)"
    )
    for store in STORES:
        made.view(f"accounts-{store}", accounts, store=store)
    made.view("counts", counts, store="postgres")
    return made


def account(id_: int, city: str, minute: int = 0) -> dict[str, object]:
    return {"id": id_, "city": city, "at": f"2026-01-01T00:{minute:02}:00Z"}


@dataclass
class Project:
    """A pipeline, its input, and a client of its views."""

    name: str
    pipeline: Pipeline
    client: ViewClient
    conditions: Conditions
    spark: SparkSession

    def feed(self, topic: str, *rows: tuple[int, dict[str, object] | None]) -> None:
        producer = Producer(writer_settings(self.conditions.bootstrap))
        for key, row in rows:
            value = None if row is None else json.dumps(row)
            producer.produce(f"{self.name}.{topic}", value, key=str(key))
        assert producer.flush(30) == 0

    def run(self) -> None:
        start(self.pipeline, self.spark, self.conditions).await_end()


@pytest.fixture(scope="module")
def project(
    spark: SparkSession,
    bootstrap: str,
    redis_address: str,
    postgres: str,
    addresses: Addresses,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Project]:
    home: Path = tmp_path_factory.mktemp("views")
    name = f"v{uuid.uuid4().hex[:8]}"
    for topic in ("in", "events"):
        create(bootstrap, f"{name}.{topic}", 1)
    made = pipeline(name)
    make_missing_topics(administer(bootstrap, None), made)
    conditions = Conditions(
        bootstrap, str(home / "checkpoint"), until_caught_up=True, servers=addresses
    )
    around = Surroundings(home / "views", bootstrap, addresses)
    with keeping(made, around) as server, ViewClient(server.url) as client:
        yield Project(name, made, client, conditions, spark)


def test_a_view_in_another_store_is_read_there(project: Project) -> None:
    client = project.client
    for store in STORES:
        with pytest.raises(ViewError) as caught:
            client.get(f"accounts-{store}", 1)
        assert caught.value.slug == "view-not-ready"

    rows = [(n, account(n, "Ulm")) for n in (1, 2, 10, 11)]
    project.feed("in", *rows)
    events = [(n, account(n, "Ulm", minute)) for n, minute in enumerate((1, 2, 20))]
    project.feed("events", *events)
    project.run()
    project.feed("in", (1, account(1, "Bonn")), (2, None))
    project.run()

    for store in STORES:
        _check_accounts(client, f"accounts-{store}")
    key = {"city": "Ulm", "window_start": "2026-01-01T00:00Z"}
    found = client.get("counts", key)
    assert found.row is not None
    assert found.row["n"] == 2
    assert found.row["window_start"] == "2026-01-01T00:00:00.000000Z"
    assert dict(client.scan("counts", {"city": "Ulm"}).rows)[found.key] == found.row


def _check_accounts(client: ViewClient, view: str) -> None:
    first, gone = client.get(view, 1), client.get(view, 2)
    page = client.scan(view, "1", limit=2)
    rest = client.scan(view, "1", limit=2, cursor=page.cursor)

    assert first.row == account(1, "Bonn") | {
        "at": "2026-01-01T00:00:00.000000Z",
        "note": None,
    }
    assert gone.row is None
    assert gone.standing.batch >= 1
    assert [key for key, _ in page.rows + rest.rows] == ["1", "10", "11"]
    assert rest.cursor is None
    assert client.scan(view).standing.is_exact == view.endswith("postgres")


@pytest.mark.parametrize("store", STORES)
def test_a_store_that_does_not_remember_says_so(project: Project, store: str) -> None:
    view = f"accounts-{store}"
    for ask in (
        lambda: project.client.get(view, 1, as_of=AsOf(batch=0)),
        lambda: next(project.client.watch(view)),
    ):
        with pytest.raises(ViewError) as caught:
            ask()
        assert caught.value.slug == "view-without-history"
