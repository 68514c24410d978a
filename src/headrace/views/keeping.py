"""Keep a pipeline's views: one process follows its topics and answers."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import ViewError
from headrace.plan.view import View
from headrace.serving import LOOPBACK, served
from headrace.sinks import Servers
from headrace.sinks.servers import given
from headrace.views.serving import ViewServer
from headrace.views.store import ViewStore
from headrace.views.stored import Rowed, opened

if TYPE_CHECKING:
    from headrace.pipeline import Pipeline

_STORE = "store.sqlite"
_TURN_SECONDS = 0.0005
_ADDRESS = "server.json"


def require_views(pipeline: Pipeline) -> dict[str, View]:
    """Give the views of a pipeline by name.

    Raises:
        ViewError: [view-unknown] it has none.
    """
    if not pipeline.views:
        raise ViewError(
            "view-unknown",
            f'pipeline "{pipeline.name}" has no view',
            hint=f'declare one: {pipeline.name}.view("name", table).',
            where=pipeline.where,
        )
    return {view.name: view for view in pipeline.views}


@dataclass(frozen=True)
class Surroundings:
    """Where a pipeline's views are kept and asked.

    Args:
        directory: Where the embedded store is; it is made if it is missing.
        bootstrap: The brokers' addresses.
        servers: Where the servers of other stores are.
        host: The address to answer at.
        port: The port; 0 for a free one.
    """

    directory: Path
    bootstrap: str
    servers: Servers | None = None
    host: str = LOOPBACK
    port: int = 0


@contextlib.contextmanager
def keeping(
    pipeline: Pipeline,
    around: Surroundings,
    tell: Callable[[str], None] = lambda _news: None,
) -> Iterator[ViewServer]:
    """Follow and serve the views of a pipeline, in threads.

    Args:
        pipeline: Whose views.
        around: Where they are kept and asked.
        tell: Is told what a person should know.

    Raises:
        ViewError: [view-unknown] there is none; [view-in-use] another process keeps
            them.
        ServiceError: [port-taken] something else listens there; [server-unknown]
            nobody knows the server of a view's store.
    """
    views = require_views(pipeline)
    own = [view for view in views.values() if view.store == "embedded"]
    directory = around.directory
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _lock(directory), contextlib.ExitStack() as kept:
        readings: dict[str, Rowed] = {}
        for view in views.values():
            if view.store != "embedded":
                servers = given(around.servers, view.store, view.where)
                readings[view.name] = kept.enter_context(opened(view, servers))
        store = None
        if own:
            store = ViewStore(directory / _STORE, {v.name: v.history for v in own})
            kept.callback(store.close)
            readings |= dict.fromkeys((view.name for view in own), store.reading)
        server = ViewServer(
            views, readings, store=store, host=around.host, port=around.port
        )
        if store is not None:
            kept.enter_context(_followed(store, own, around.bootstrap, tell))
        kept.enter_context(_quick_turns())
        kept.enter_context(served(server))
        kept.enter_context(_announced(directory, server.url))
        yield server


@contextlib.contextmanager
def _quick_turns() -> Iterator[None]:
    """Let threads take turns often: a question must not wait for a batch's rows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextlib.contextmanager
def _followed(
    store: ViewStore,
    views: Sequence[View],
    bootstrap: str,
    tell: Callable[[str], None],
) -> Iterator[None]:
    # librdkafka is loaded by those who follow, not by those who ask.
    from headrace.views.following import Follower  # noqa: PLC0415

    follower = Follower(
        store,
        {view.target: view.name for view in views},
        pipeline=views[0].pipeline,
        bootstrap=bootstrap,
        tell=tell,
    )
    enough = threading.Event()
    thread = threading.Thread(target=follower.run, args=(enough,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join(30)


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
