"""A store of views that is filled by hand, and its server."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

from headrace import Pipeline, event, kafka, minutes, tumbling
from headrace.views.serving import ViewServer
from headrace.views.store import Applied, Row, ViewStore

HOUR_MS = 3_600_000


@event(key="number", time="at")
class Account:
    number: int
    city: str
    at: datetime


def pipeline() -> Pipeline:
    made = Pipeline("bank")
    accounts = made.table(kafka("accounts", Account))
    made.view("accounts", accounts, history=timedelta(hours=2))
    payments = made.read(kafka("payments", Account))
    counts = payments.window("counts", tumbling(minutes(5)), by="city", n="count(*)")
    made.view("counts", counts)
    return made


class Served:
    """A store that is filled by hand, and its server."""

    def __init__(self, path: Path) -> None:
        self.views = {view.name: view for view in pipeline().views}
        histories = {name: view.history for name, view in self.views.items()}
        self.store = ViewStore(path, histories)
        readings = dict.fromkeys(self.views, self.store.reading)
        self.server = ViewServer(self.views, readings, store=self.store)
        self.batch = -1

    def apply(self, *rows: Row, at: int = 0) -> None:
        self.batch += 1
        self.store.apply(Applied("q", self.batch, at, rows, {}, {}))


def row(number: int, city: str) -> Row:
    value = {"number": number, "city": city}
    return "accounts", str(number).encode(), json.dumps(value).encode()


def pane(city: str, start: str, n: int) -> Row:
    key = f'{{"city":"{city}","window_start":"{start}"}}'
    return "counts", key.encode(), json.dumps({"city": city, "n": n}).encode()
