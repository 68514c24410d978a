"""A line to a server that a test can cut, at a word it hears or whenever it likes."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

_BYTES = 65536


class CutLine:
    """Passes everything on between its own port and a server's, until it is cut.

    A line that is to be cut at a word never passes that word on, nor anything after
    it. While it is cut, connections are accepted and closed at once.

    Args:
        port: The server's port on this machine.
    """

    def __init__(self, port: int) -> None:
        self._server = port
        self._word: bytes | None = None
        self._unanswered: bytes | None = None
        self._is_cut = False
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        # A thread that waits in accept() would keep the port open for one more.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def cut_at(self, word: bytes) -> None:
        """Cut the line when a client says the word."""
        self._word = word

    def leave_unanswered(self, word: bytes) -> None:
        """Pass the word on, once, and close the connection before an answer comes."""
        self._unanswered = word

    def cut(self) -> None:
        """Cut the line."""
        with self._lock:
            self._is_cut = True
            for end in self._open:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    @property
    def is_cut(self) -> bool:
        """Whether nothing passes."""
        return self._is_cut

    @property
    def has_left_unanswered(self) -> bool:
        """Whether no word is left that is to have no answer."""
        return self._unanswered is None

    def mend(self) -> None:
        """Let everything pass again."""
        self._word, self._is_cut = None, False

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self._server))
            except OSError:
                client.close()
                continue
            with self._lock:
                self._open |= {client, server}
            for here, there, heard in ((client, server, True), (server, client, False)):
                args = (here, there, heard)
                threading.Thread(target=self._pass_on, args=args, daemon=True).start()

    def _pass_on(self, here: socket.socket, there: socket.socket, heard: bool) -> None:
        with contextlib.suppress(OSError):
            while data := here.recv(_BYTES):
                if heard and self._word and self._word in data:
                    self.cut()
                    break
                there.sendall(data)
                if heard and self._unanswered and self._unanswered in data:
                    self._unanswered = None
                    break
        with self._lock:
            self._open -= {here, there}
        for end in (here, there):
            end.close()
