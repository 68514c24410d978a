"""A guard keeps what its captures are found to be, and hands it to who asks."""

from __future__ import annotations

from datetime import timedelta
from threading import Event
from typing import Any

import pytest

from headrace import Pipeline, ServiceError, cdc, event, kafka, sinks
from headrace.cdc.place import Capture
from headrace.errors import CaptureError
from headrace.runtime import watching

SOON = timedelta(milliseconds=1)


@event(key="user_id")
class User:
    user_id: int


def capture(database: str = "bank") -> Capture:
    return Capture(database, f"postgresql:///{database}", "http://nowhere:1", {})


class Looked:
    """Stands for the look at the servers: it finds what it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *finds: str | None) -> None:
        self.finds = list(finds)
        self.done = Event()
        monkeypatch.setattr("headrace.cdc.watching.problems", self)

    def __call__(self, capture: Capture) -> list[CaptureError]:
        found = self.finds.pop(0) if self.finds else None
        if not self.finds:
            self.done.set()
        return [CaptureError(found, "it is so")] if found else []


def test_a_capture_that_is_wrong_already_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Looked(monkeypatch, "capture-slot-missing")

    with (
        pytest.raises(CaptureError, match="capture-slot-missing"),
        watching.CaptureGuard([capture()]),
    ):
        pass


def test_what_goes_wrong_later_is_raised_to_who_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = Looked(monkeypatch, None, None, "capture-slot-lost")

    with watching.CaptureGuard([capture()], every=SOON) as guard:
        assert looked.done.wait(60)
        guard._thread.join(60)
        with pytest.raises(CaptureError, match="capture-slot-lost"):
            guard.check()


def test_a_server_that_is_away_for_a_moment_is_borne(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = Looked(monkeypatch, "database-unreachable", "connect-unreachable", None)

    with watching.CaptureGuard([capture()], every=SOON) as guard:
        assert looked.done.wait(60)
        guard.check()


def test_a_pipeline_without_captures_needs_no_thread() -> None:
    with watching.CaptureGuard([]) as guard:
        assert not guard._thread.is_alive()
        guard.check()


def test_only_the_databases_that_come_to_an_output_are_looked_at() -> None:
    bank = Pipeline("bank")
    users = bank.table(cdc.postgres("bank", "public.users", User))
    bank.table(cdc.postgres("shop", "public.users", User))
    bank.read(kafka("clicks", User))
    bank.write("users", users, sinks.kafka("users"))

    assert watching.captured_databases(bank.outputs) == ["bank"]


def test_a_capture_of_somebody_else_or_of_unknown_servers_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Servers:
        def database(self, name: str) -> str:
            if name == "far":
                raise ServiceError("server-unknown", "no such database is known here")
            return f"postgresql:///{name}"

        def connect(self) -> str:
            return "http://nowhere:1"

    def known(cluster: Any, wanted: Capture) -> None:
        slugs = {"foreign": "capture-missing", "away": "connect-unreachable"}
        if wanted.database in slugs:
            raise CaptureError(slugs[wanted.database], "it is so")

    monkeypatch.setattr(watching, "require_capture", known)
    names = ["away", "bank", "far", "foreign"]

    found, others = watching.find_captures(names, Servers(), {})

    assert [capture.database for capture in found] == ["away", "bank"]
    assert others == {"far": "no such database is known here", "foreign": "it is so"}
