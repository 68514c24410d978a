"""Serve views over HTTP: read only, on loopback unless told otherwise."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any, cast

from headrace.errors import ViewError
from headrace.plan.view import View
from headrace.serving import LOOPBACK, LocalServer
from headrace.views.questions import (
    STATUS,
    Question,
    answer,
    error_json,
    parse_question,
    refused,
)
from headrace.views.store import ViewStore
from headrace.views.stored import Readings, without_history
from headrace.views.watching import failed, watch

_MOST_CONNECTIONS = 256
_MOST_WATCHES = 64
_IDLE_SECONDS = 60.0


class ViewServer(LocalServer):
    """Answers questions about views until it is closed.

    Args:
        views: The views by name.
        readings: Where each is read.
        store: The embedded store, where there is one; its views can be watched.
        host: The address to listen at.
        port: The port; 0 for a free one.

    Raises:
        ServiceError: [port-taken] something else listens there.
    """

    request_queue_size = 128

    def __init__(
        self,
        views: Mapping[str, View],
        readings: Readings,
        *,
        store: ViewStore | None = None,
        host: str = LOOPBACK,
        port: int = 0,
    ) -> None:
        self.store = store
        self.views = dict(views)
        self.readings = readings
        self.watches = threading.BoundedSemaphore(_MOST_WATCHES)
        self.is_over = threading.Event()
        self._connections = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        hint = "choose another port, or 0 for a free one."
        super().__init__(_Handler, (host, port), what="views", hint=hint)

    def close(self) -> None:
        """Stop answering; watches end."""
        self.is_over.set()
        super().close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; beyond the most connections, hang up."""
        if not self._connections.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer the requests of a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "headrace"
    sys_version = ""
    timeout = _IDLE_SECONDS
    # One packet for an answer, and at once.
    wbufsize = -1
    disable_nagle_algorithm = True

    @property
    def ours(self) -> ViewServer:
        return cast("ViewServer", self.server)

    def do_GET(self) -> None:
        """Answer a question."""
        try:
            if not self.ours.accepts(self.headers.get("Host")):
                raise refused("the request is meant for another host")
            if {"Content-Length", "Transfer-Encoding"} & set(self.headers):
                # What comes with it would be taken for the next request.
                self.close_connection = True
                raise refused("a question has no body")
            question = parse_question(self.path, self.ours.views)
            if question.verb == "watch":
                self._watch(question)
                return
            body = answer(question, self.ours.views, self.ours.readings)
        except ViewError as error:
            self._refuse(error)
            return
        self._send(200, body)

    def _watch(self, question: Question) -> None:
        question.require("after", "rows")
        view = question.view
        if view is None:
            raise refused("a watch is of one view")
        store = self.ours.store
        if store is None or view.store != "embedded":
            raise without_history(view)
        if not self.ours.watches.acquire(blocking=False):
            raise ViewError(
                "view-busy",
                f"{_MOST_WATCHES} watches are open already",
                hint="close some, or start another `headrace view serve`.",
            )
        try:
            events = watch(
                store,
                view,
                after=self.headers.get("Last-Event-ID") or question.asked.get("after"),
                with_rows=question.asked.get("rows") == "true",
                is_over=self.ours.is_over.is_set,
            )
            self._stream(events)
        finally:
            self.ours.watches.release()

    def _stream(self, events: Any) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            self.wfile.flush()
            for event in events:
                self.wfile.write(event)
                self.wfile.flush()
        except ViewError as error:
            self.wfile.write(failed(error))
        except OSError:
            # Whoever watched has gone; the next watch begins where this one ended.
            return

    def _refuse(self, error: ViewError) -> None:
        status = STATUS.get(error.slug, 400)
        self._send(status, error_json(error))

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _refuse_write(self) -> None:
        # What comes with it is not read, so the connection cannot go on.
        self.close_connection = True
        fact = f"{self.command} would change something, and views are only read"
        self._refuse(ViewError("view-read-only", fact))

    do_POST = do_PUT = do_PATCH = do_DELETE = _refuse_write  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of each request."""
