"""A Maven repository on loopback, for tests that fetch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from headrace.artifacts.lock import Artifact


@dataclass
class Repository:
    """A Maven repository that answers as it is told, and keeps what was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    cut_at: int | None = None
    refuse_first: int = 0
    send: Callable[[Callable[[bytes], object]], None] | None = None
    length: int | None = None
    finished: bool = False
    url: str = ""

    def offer(self, wanted: Artifact, content: bytes) -> None:
        self.files[f"/maven/{wanted.path}"] = content

    @property
    def asked_for(self) -> list[str]:
        """The files that were asked for, checksums beside them left out."""
        return [path for path in self.asked if not path.endswith(".sha1")]

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.asked.append(request.path)
        content = self.files.get(request.path)
        if self.refuse_first > 0 and content is not None:
            self.refuse_first -= 1
            request.send_error(503)
            return
        if content is None:
            request.send_error(404)
            return
        request.send_response(200)
        request.send_header("Content-Length", str(self.length or len(content)))
        request.end_headers()
        if self.send is None:
            request.wfile.write(content[: self.cut_at])
        else:
            self.send(request.wfile.write)


@contextmanager
def serving() -> Iterator[Repository]:
    """Serve an empty repository; a test fills it."""
    repository = Repository()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            repository.answer(self)

        def log_message(self, *_: object) -> None:
            """Say nothing: what was asked is kept instead."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        repository.url = f"http://127.0.0.1:{server.server_port}/maven"
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield repository
        server.shutdown()
        thread.join()
