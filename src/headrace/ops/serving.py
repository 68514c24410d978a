"""Serve a pipeline's metrics and its health over HTTP, on loopback unless told so."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from headrace.errors import ServiceError

LOOPBACK = "127.0.0.1"
_OURSELVES = {"localhost", "127.0.0.1", "[::1]"}
_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_JSON = "application/json; charset=utf-8"


class MetricsServer(ThreadingHTTPServer):
    """Answers what a pipeline's numbers are, until it is closed.

    Args:
        metrics: Gives the metrics in Prometheus' text format.
        health: Gives the status and the JSON of the pipeline's health.
        host: The address to listen at.
        port: The port; 0 for a free one.

    Raises:
        ServiceError: [port-taken] something else listens there.
    """

    daemon_threads = True

    def __init__(
        self,
        metrics: Callable[[], str],
        health: Callable[[], tuple[int, object]],
        *,
        host: str = LOOPBACK,
        port: int = 0,
    ) -> None:
        self.metrics, self.health = metrics, health
        self._is_local = host in {LOOPBACK, "localhost", "::1"}
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise ServiceError(
                "port-taken",
                f"metrics cannot be served at {host}:{port}",
                detail=str(error),
                hint="choose another port with --metrics, or 0 for a free one.",
            ) from error

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}"

    def accepts(self, host: str | None) -> bool:
        """Tell whether a request is meant for us, and not for a name that points here.

        A page of the web could otherwise read from loopback under its own name.
        """
        name = (host or "").rpartition(":")[0] or (host or "")
        return not self._is_local or name.lower() in _OURSELVES

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away."""


class _Handler(BaseHTTPRequestHandler):
    server_version = "headrace"
    sys_version = ""
    timeout = 10.0

    def do_GET(self) -> None:
        """Answer with metrics or health."""
        ours = cast("MetricsServer", self.server)
        path = self.path.partition("?")[0]
        if not ours.accepts(self.headers.get("Host")):
            self._send(400, _JSON, '{"error": "the request is for another host"}')
        elif path == "/metrics":
            self._send(200, _TEXT, ours.metrics())
        elif path == "/health":
            status, told = ours.health()
            self._send(status, _JSON, json.dumps(told))
        else:
            self._send(404, _JSON, '{"paths": ["/metrics", "/health"]}')

    def _send(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of each request."""


@contextlib.contextmanager
def served(server: MetricsServer) -> Iterator[MetricsServer]:
    """Serve in a thread, and close at the end."""
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
