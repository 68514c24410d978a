"""How a command ends when somebody ends it: by Ctrl-C, by SIGTERM, or by two of them.

The first ends it in good order: at once, or after what the command has in hand. The
second kills it, with all that it has started. Each is one line on stderr.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType

    import psutil

INTERRUPTED = 130
ENDED = "ended"
AFTER_THIS = "ending after the batch in hand; a second Ctrl-C kills at once"
_KILLED = "killed"

_SIGNS = (signal.SIGINT, signal.SIGTERM)
# `timeout` sends a signal to its child and then to the whole group: one wish, twice.
_SAME_SECONDS = 0.3
# Who is interrupted has to close what is open. Beyond this, it is stuck in it.
_GRACE_SECONDS = 10.0
_LOOK_SECONDS = 0.2
_CHILDREN_SECONDS = 3.0


class EndedError(KeyboardInterrupt):
    """Raised in the main thread: somebody ends the command."""


class Ending:
    """The owner of SIGINT and SIGTERM while a command runs.

    Signals come to the main thread between two steps of Python, which may be long
    after somebody has sent them. So a second thread is woken by each as well: it kills
    when a second one comes, whatever the main thread is at.

    Attributes:
        sign: The first signal that came.
    """

    def __init__(self) -> None:
        self._is_armed = False
        self._begin()

    def _begin(self) -> None:
        self.sign: signal.Signals | None = None
        self._ignored: frozenset[signal.Signals] = frozenset()
        self._says, self._grace = ENDED, _GRACE_SECONDS
        self._finish: Callable[[], None] | None = None
        self._kill_says = _KILLED
        self._kill_too: Callable[[], None] = lambda: None
        self._came_at = 0.0
        self._is_heard = self._is_raised = False
        self._is_over = threading.Event()

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Own the signals until this is left; what a command has started ends then."""
        if self._is_armed or threading.current_thread() is not threading.main_thread():
            yield
            return
        # One process may run several commands, one after the other.
        self._begin()
        self._is_armed = True
        before = {sign: signal.getsignal(sign) for sign in _SIGNS}
        # A shell starts what runs in its background so, and Ctrl-C is not for it.
        self._ignored = frozenset(s for s in _SIGNS if before[s] is signal.SIG_IGN)
        reading, writing = socket.socketpair()
        writing.setblocking(False)
        fd = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        watch = threading.Thread(target=self._watch, args=(reading,), daemon=True)
        watch.start()
        for sign in _SIGNS:
            if sign not in self._ignored:
                signal.signal(sign, self._hear)
        try:
            yield
        finally:
            if self.sign is not None:
                end_children()
            self._is_over.set()
            signal.set_wakeup_fd(fd)
            for sign, handler in before.items():
                # What Python does at its end is not to be interrupted by an exception.
                is_own = self.sign is not None and sign not in self._ignored
                signal.signal(sign, signal.SIG_DFL if is_own else handler)
            writing.close()
            watch.join()
            reading.close()
            self._is_armed = False

    def at_once(self, says: str, grace: float = _GRACE_SECONDS) -> None:
        """Let the first signal interrupt the main thread from here on.

        Args:
            says: The line that is printed then; none if it is empty.
            grace: How many seconds it may take to close what is open, before the
                process is killed.
        """
        self._says, self._finish, self._grace = says, None, grace

    def after(self, says: str, finish: Callable[[], None]) -> None:
        """Let the first signal ask the command to end from here on.

        Args:
            says: The line that is printed then.
            finish: Is called in the main thread, between two steps of it.
        """
        self._says, self._finish = says, finish

    def at_kill(self, says: str, kill: Callable[[], None] = lambda: None) -> None:
        """Say what a second signal does, which kills all children.

        Args:
            says: The line that is printed then.
            kill: What has to be done beside that, such as killing servers.
        """
        self._kill_says, self._kill_too = says, kill

    @property
    def is_interrupted(self) -> bool:
        """Whether the main thread was interrupted by the first signal."""
        return self._is_raised

    def status(self, code: int | str | None) -> int | str | None:
        """Give the status to exit with: that of the signal, unless something failed."""
        if self.sign is None or code not in (None, 0, INTERRUPTED):
            return code
        return 0 if self.sign is signal.SIGTERM else INTERRUPTED

    def _hear(self, number: int, _frame: FrameType | None) -> None:
        if self._is_heard:
            return
        self.sign, self._is_heard = signal.Signals(number), True
        say(self._says)
        if self._finish is not None:
            self._finish()
            return
        self._is_raised = True
        # Py4J logs whatever interrupts a call, with its trace.
        logging.disable()
        raise EndedError

    def _watch(self, reading: socket.socket) -> None:
        while not self._is_over.is_set():
            reading.settimeout(None if self.sign is None else _LOOK_SECONDS)
            numbers = b""
            with suppress(TimeoutError):
                numbers = reading.recv(64)
                if not numbers:
                    return
            for number in numbers:
                if number in _SIGNS:
                    self._count(signal.Signals(number))
            if self._is_stuck():
                self._kill(0 if self.sign is signal.SIGTERM else INTERRUPTED)

    def _count(self, sign: signal.Signals) -> None:
        now = time.monotonic()
        if not self._came_at:
            self._came_at, self.sign = now, sign
        elif now - self._came_at > _SAME_SECONDS:
            say(self._kill_says)
            self._kill(128 + sign)

    def _is_stuck(self) -> bool:
        """Tell whether what was to end at once has not ended."""
        if self.sign is None or time.monotonic() - self._came_at < self._grace:
            return False
        is_ours = signal.getsignal(self.sign) == self._hear
        return self._is_raised or (is_ours and not self._is_heard)

    def _kill(self, code: int) -> NoReturn:
        with suppress(Exception):
            self._kill_too()
        with suppress(Exception):
            end_children(patience=0)
        os._exit(code)


def say(line: str) -> None:
    """Print a line on stderr from within a signal's handler, where `print` may not."""
    if line:
        with suppress(OSError):
            os.write(2, f"{line}\n".encode())


def end_children(patience: float = _CHILDREN_SECONDS) -> None:
    """End all processes that this one has started, in the end by force."""
    import psutil  # noqa: PLC0415 - a command that is not ended does not need it

    def living() -> list[psutil.Process]:
        found = psutil.Process().children(recursive=True)
        return [child for child in found if child.is_running() and not _is_dead(child)]

    children = living()
    if patience and children:
        for child in children:
            with suppress(psutil.Error):
                child.terminate()
        psutil.wait_procs(children, patience)
    # Who was about to start another has done so by the second look.
    for _ in range(3):
        for child in living():
            with suppress(psutil.Error):
                child.kill()


def _is_dead(process: psutil.Process) -> bool:
    import psutil  # noqa: PLC0415 - as above

    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


ENDING = Ending()
"""That of this process."""
