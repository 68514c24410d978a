"""Views on a real broker: they follow, remember, and survive whoever is killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace import ViewError
from headrace.log import administer
from headrace.runtime.run import Conditions, start
from headrace.runtime.topics import make_missing_topics
from headrace.views import AsOf, ViewClient
from support.harness.view_bank import Bank, Server, Watcher, held
from support.harness.waiting import wait_until
from support.harness.warm import Drivers
from support.pipelines.viewed import pipeline


@contextmanager
def running(bank: Bank, spark: SparkSession) -> Iterator[None]:
    """Run a bank's pipeline in this process."""
    made = pipeline(bank.name, bank.lanes)
    make_missing_topics(administer(bank.bootstrap, None), made)
    checkpoint = str(bank.home / "checkpoint")
    conditions = Conditions(bank.bootstrap, checkpoint, most_per_batch=50)
    delivering = start(made, spark, conditions)
    try:
        yield
    finally:
        delivering.stop()


def await_model(bank: Bank, client: ViewClient, seconds: float = 120) -> None:
    """Wait until the views hold what was fed."""
    expected = bank.expected()

    def is_there() -> bool:
        return held(client) == expected

    wait_until("the views are those of the model", is_there, seconds=seconds, step=0.2)


def test_views_follow_and_remember_though_their_server_is_killed(
    bootstrap: str, spark: SparkSession, tmp_path: Path
) -> None:
    bank = Bank(bootstrap, tmp_path, lanes=2)
    bank.feed(20)
    server = Server(bank)
    remembered = {}
    with running(bank, spark), server.running(), ViewClient(server.url) as client:
        watcher = Watcher(server.url, "accounts")
        wait_until("a batch is there", lambda: _is_ready(client), seconds=120)
        watcher.start()
        wait_until("the watch has begun", lambda: watcher.heard)
        for _ in range(2):
            await_model(bank, client)
            page = client.scan("accounts", limit=1000)
            remembered[page.standing.batch] = page.rows
            server.kill()
            bank.feed(20)
            server.start()
        await_model(bank, client)

        for batch, rows in remembered.items():
            then = client.scan("accounts", limit=1000, as_of=AsOf(batch=batch))
            assert (then.rows, then.standing.batch) == (rows, batch)
        _check_watch(bank, watcher, client)


def _is_ready(client: ViewClient) -> bool:
    try:
        return client.scan("accounts", limit=1).standing is not None
    except ViewError as error:
        if error.slug != "view-not-ready":
            raise
        return False


def _check_watch(bank: Bank, watcher: Watcher, client: ViewClient) -> None:
    """What was heard leads from the first state to the last, each change once."""
    first = watcher.heard[0]
    assert first.op == "ready"
    as_of = AsOf(batch=first.standing.batch)
    rows = dict(client.scan("accounts", limit=1000, as_of=as_of).rows)
    expected = bank.expected()["accounts"]

    def led_to() -> bool:
        found = dict(rows)
        for update in list(watcher.heard[1:]):
            if update.op == "delete":
                del found[update.key]
            else:
                assert found.get(update.key) != update.row
                found[update.key] = update.row or {}
        return found == expected

    wait_until("the watch has told everything", led_to)
    ids = [update.id for update in watcher.heard]
    assert len(set(ids)) == len(ids)
    assert watcher.error is None
    watcher.is_over.set()


@pytest.mark.parametrize("lanes", [1, 2])
def test_views_are_those_of_the_model_though_the_driver_is_killed(
    bootstrap: str, drivers: Drivers, tmp_path: Path, lanes: int
) -> None:
    bank = Bank(bootstrap, tmp_path, lanes=lanes)
    bank.feed(100)
    given = bank.given | {"per_batch": 60}
    server = Server(bank)
    with server.running(), ViewClient(server.url) as client:
        for failpoint in "rows-flushed:2", "record-sent:1", "committed:2":
            fallen = drivers.run("viewed", given, failpoint)
            assert fallen.was_killed, f"{failpoint}: {fallen.log}"
            bank.feed(50)
            server.kill()
            server.start()
        ended = drivers.run("viewed", given)
        assert ended.status == 0, ended.log
        await_model(bank, client)
