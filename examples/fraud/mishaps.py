"""Kill what the bank depends on while it works, as life does."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence

from bank import SERVERS
from driving import Driver

from headrace.services import SERVICES, Stack

# Not the bank's own database: its changes would come later, and mean something else.
VICTIMS = ("driver", *(name for name in SERVERS if name != "postgres"))
MOMENT_SECONDS = 0.02


class Mishaps:
    """Kills each of its victims once, spread evenly over a run.

    Servers are started again, as somebody would who looks after them; the driver is
    started again by whom it belongs to.
    """

    def __init__(
        self,
        victims: Sequence[str],
        seconds: float,
        stack: Stack,
        driver: Driver,
        tell: Callable[[str, str], None],
    ) -> None:
        self._victims, self._seconds = victims, seconds
        self._stack, self._driver, self._tell = stack, driver, tell
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mishaps")

    def __enter__(self) -> Mishaps:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        for number, victim in enumerate(self._victims, start=1):
            due = began + self._seconds * number / (len(self._victims) + 1)
            if self._over.wait(max(0, due - time.monotonic())):
                return
            self._tell(victim, "killed")
            self._kill(victim)

    def _kill(self, victim: str) -> None:
        if victim == "driver":
            self._driver.kill()
            return
        site = self._stack.site()
        processes = map(site.process, SERVICES[victim].process_names(site.brokers))
        for process in processes:
            if (pid := process.pid) is not None:
                os.kill(pid, signal.SIGKILL)
            # One that is still ending would be taken for one that runs.
            while process.pid == pid is not None:
                time.sleep(MOMENT_SECONDS)
        self._stack.up([victim], tell=self._tell)
