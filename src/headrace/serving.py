"""HTTP servers of ours: on loopback unless told otherwise, under no other name."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from headrace.errors import ServiceError

LOOPBACK = "127.0.0.1"
_OURSELVES = {"localhost", "127.0.0.1", "[::1]"}


class LocalServer(ThreadingHTTPServer):
    """Answers in threads until it is closed.

    Args:
        handler: Answers the requests of a connection.
        address: Where to listen: the host, and the port, 0 for a free one.
        what: What is served, in messages.
        hint: How another port is chosen.

    Raises:
        ServiceError: [port-taken] something else listens there.
    """

    daemon_threads = True

    def __init__(
        self,
        handler: type[BaseHTTPRequestHandler],
        address: tuple[str, int],
        *,
        what: str,
        hint: str,
    ) -> None:
        host, port = address
        self._is_local = host in {LOOPBACK, "localhost", "::1"}
        try:
            super().__init__(address, handler)
        except OSError as error:
            raise ServiceError(
                "port-taken",
                f"{what} cannot be served at {host}:{port}",
                detail=str(error),
                hint=hint,
            ) from error

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}"

    def close(self) -> None:
        """Stop answering."""
        self.shutdown()
        self.server_close()

    def accepts(self, host: str | None) -> bool:
        """Tell whether a request is meant for us.

        On loopback, a page of the web could otherwise ask under a name of its own
        that it lets point here.
        """
        name = (host or "").rpartition(":")[0] or (host or "")
        return not self._is_local or name.lower() in _OURSELVES

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away."""


Server = TypeVar("Server", bound=LocalServer)


@contextlib.contextmanager
def served(server: Server) -> Iterator[Server]:
    """Serve in a thread, and close at the end."""
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join(10)
