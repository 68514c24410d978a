"""Keep PySpark's hands off the signals of a command."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from pyspark.core import context as made


@contextmanager
def signals_left_alone() -> Iterator[None]:
    """Let no context that is made meanwhile take Ctrl-C for itself.

    PySpark's own handler cancels all jobs and raises amid whatever call to the JVM the
    main thread is in. Taking the signal back afterwards would be too late for whoever
    presses Ctrl-C while a session is made.
    """
    module: Any = made
    before = module.signal
    nothing = SimpleNamespace(SIGINT=signal.SIGINT, signal=lambda *_: None)
    module.signal = nothing
    try:
        yield
    finally:
        module.signal = before
