"""A schema registry of one page, for tests that need its answers and no server."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class FakeRegistry:
    """Schemas by id; `asked` counts the questions for each."""

    def __init__(self) -> None:
        self.schemas: dict[int, dict[str, Any]] = {}
        self.asked: Counter[int] = Counter()
        self.address = ""

    def add(self, schema_type: str, text: str, **more: Any) -> int:
        schema_id = len(self.schemas) + 1
        self.schemas[schema_id] = {"schemaType": schema_type, "schema": text, **more}
        return schema_id

    def answer(self, path: str) -> tuple[int, Any]:
        schema_id = int(path.rpartition("/")[2])
        self.asked[schema_id] += 1
        if schema_id in self.schemas:
            return 200, self.schemas[schema_id]
        return 404, {"error_code": 40403, "message": "Schema not found"}


@contextmanager
def fake_registry() -> Iterator[FakeRegistry]:
    registry = FakeRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = registry.answer(self.path)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: Any) -> None:
            """Keep the requests out of the tests' output."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        registry.address = f"http://127.0.0.1:{server.server_address[1]}"
        yield registry
        server.shutdown()


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with fake_registry() as started:
        yield started
