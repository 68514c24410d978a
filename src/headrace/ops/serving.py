"""Serve a pipeline's metrics and its health over HTTP, on loopback unless told so."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any, cast

from headrace.serving import LOOPBACK, LocalServer

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_JSON = "application/json; charset=utf-8"


class MetricsServer(LocalServer):
    """Answers what a pipeline's numbers are, until it is closed.

    Args:
        metrics: Gives the metrics in Prometheus' text format.
        health: Gives the status and the JSON of the pipeline's health.
        host: The address to listen at.
        port: The port; 0 for a free one.

    Raises:
        ServiceError: [port-taken] something else listens there.
    """

    def __init__(
        self,
        metrics: Callable[[], str],
        health: Callable[[], tuple[int, object]],
        *,
        host: str = LOOPBACK,
        port: int = 0,
    ) -> None:
        self.metrics, self.health = metrics, health
        hint = "choose another port with --metrics, or 0 for a free one."
        super().__init__(_Handler, (host, port), what="metrics", hint=hint)


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
