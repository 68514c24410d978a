"""Captures of PostgreSQL are made by our connector, or it is said that they are not."""

from __future__ import annotations

import pytest

from headrace import CaptureError
from headrace.cdc import captures, own_connector
from headrace.cdc.connector import OWN_POSTGRES
from headrace.cdc.watching import check
from support.harness.capturing import Bank

DEBEZIUM = "io.debezium.connector.postgresql.PostgresConnector"


def test_a_connect_without_our_connector_is_refused_before_any_change(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank.make()
    monkeypatch.setattr(own_connector, "OWN_POSTGRES", f"{OWN_POSTGRES}OfTomorrow")

    with pytest.raises(CaptureError, match="capture-connector-missing") as caught:
        bank.add()

    assert "connect.jar" in str(caught.value)
    assert bank.run("select pubname from pg_publication") == []
    assert bank.cluster.config(bank.capture.connector) is None


def test_a_capture_by_the_plain_connector_is_named_and_mended(bank: Bank) -> None:
    bank.make()
    bank.add()
    bank.await_committed()
    config = bank.cluster.config(bank.capture.connector) or {}
    bank.cluster.put(bank.capture.connector, config | {"connector.class": DEBEZIUM})
    bank.await_running()
    with pytest.raises(CaptureError, match="capture-connector-outdated"):
        check(bank.capture)

    captures.resume(bank.capture)
    bank.run("insert into users values (77, 'later')")
    bank.await_equal()
    renewed = bank.cluster.config(bank.capture.connector) or {}
    assert renewed["connector.class"] == OWN_POSTGRES
    assert len(bank.changes()) == 4
    check(bank.capture)
