"""Keep a pipeline's views: one process follows its topics and answers."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import ViewError
from headrace.plan.view import View
from headrace.views.serving import LOOPBACK, ViewServer, served
from headrace.views.store import ViewStore

if TYPE_CHECKING:
    from headrace.pipeline import Pipeline

_STORE = "store.sqlite"
_ADDRESS = "server.json"


def embedded_views(pipeline: Pipeline) -> dict[str, View]:
    """Give the views that a process of ours keeps.

    Raises:
        ViewError: [view-unknown] the pipeline has none.
    """
    found = {view.name: view for view in pipeline.views if view.store == "embedded"}
    if not found:
        raise ViewError(
            "view-unknown",
            f'pipeline "{pipeline.name}" has no embedded view',
            hint=f'declare one: {pipeline.name}.view("name", table).',
            where=pipeline.where,
        )
    return found


@contextlib.contextmanager
def keeping(
    pipeline: Pipeline,
    directory: Path,
    bootstrap: str,
    *,
    listen: tuple[str, int] = (LOOPBACK, 0),
    tell: Callable[[str], None] = lambda _news: None,
) -> Iterator[ViewServer]:
    """Follow and serve the embedded views of a pipeline, in threads.

    Args:
        pipeline: Whose views.
        directory: Where the store is; it is made if it is missing.
        bootstrap: The brokers' addresses.
        listen: The address and the port to answer at; 0 for a free port.
        tell: Is told what a person should know.

    Raises:
        ViewError: [view-unknown] there is none; [view-in-use] another process keeps
            them.
        ServiceError: [port-taken] something else listens there.
    """
    # librdkafka is loaded by those who follow, not by those who ask.
    from headrace.views.following import Follower  # noqa: PLC0415

    views = embedded_views(pipeline)
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _lock(directory), contextlib.ExitStack() as opened:
        histories = {view.name: view.history for view in views.values()}
        store = ViewStore(directory / _STORE, histories)
        opened.callback(store.close)
        server = ViewServer(store, views, host=listen[0], port=listen[1])
        follower = Follower(
            store,
            {view.target: view.name for view in views.values()},
            pipeline=pipeline.name,
            bootstrap=bootstrap,
            tell=tell,
        )
        enough = threading.Event()
        thread = threading.Thread(target=follower.run, args=(enough,), daemon=True)
        thread.start()
        opened.callback(thread.join, 30)
        opened.callback(enough.set)
        opened.enter_context(served(server))
        opened.enter_context(_announced(directory, server.url))
        yield server


def serving_at(directory: Path) -> dict[str, str]:
    """Give the addresses of the servers that keep views below a directory."""
    found = {}
    for note in sorted(directory.glob(f"*/{_ADDRESS}")):
        with contextlib.suppress(OSError, ValueError, KeyError):
            told = json.loads(note.read_text())
            # A process that was killed has left its note behind.
            os.kill(told["pid"], 0)
            found[note.parent.name] = told["url"]
    return found


@contextlib.contextmanager
def _announced(directory: Path, url: str) -> Iterator[None]:
    note = directory / _ADDRESS
    written = note.with_suffix(".new")
    written.write_text(json.dumps({"url": url, "pid": os.getpid()}))
    written.rename(note)
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


@contextlib.contextmanager
def _lock(directory: Path) -> Iterator[None]:
    """Let one process write the store; the lock goes with it, however it dies."""
    with (directory / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ViewError(
                "view-in-use",
                "another process keeps these views already",
                hint="ask that one: `headrace view list` shows where it answers.",
                where=str(directory),
            ) from error
        yield
