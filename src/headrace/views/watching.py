"""Tell what becomes of a view: each change once, in order, from any place on."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping

from headrace.errors import ViewError
from headrace.plan.view import View
from headrace.views.answers import Standing
from headrace.views.questions import refused
from headrace.views.store import ViewStore

# Behind every key of a revision.
_ALL = b"\xff"
_PAGE = 500
HEARTBEAT_SECONDS = 10.0

_Place = tuple[str, int, bytes]


def watch(
    store: ViewStore,
    view: View,
    *,
    after: str | None,
    with_rows: bool,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[bytes]:
    """Give the changes of a view as server-sent events, until it is over.

    Args:
        store: Where the view is.
        view: Which one.
        after: The id of the last event that was heard; None to begin now.
        with_rows: Whether to begin with the rows that are there.
        is_over: Tells that nobody should be told any more.

    Raises:
        ViewError: [view-not-ready]; [view-history-short] what came after the id is
            no longer known; [view-request-refused] the id is none.
    """
    reading = store.reading
    if after is not None:
        place = _parse(after)
        # Refuse now, before an answer has begun.
        reading.feed(view.name, place, 1)
        return _follow(store, view, place, is_over)
    if not with_rows:
        _rows, stands, _more = reading.scan(view.name, _ALL, 1)
        return _begin(store, view, iter(()), stands, is_over)
    rows, stands, cursor = reading.scan(view.name, b"", _PAGE)

    def pages() -> Iterator[bytes]:
        page, more = rows, cursor
        while True:
            for key, value in page:
                yield _event("row", key, value, stands, None)
            if more is None:
                return
            page, _, more = reading.scan(view.name, b"", _PAGE, cursor=more)

    return _begin(store, view, pages(), stands, is_over)


def _begin(
    store: ViewStore,
    view: View,
    rows: Iterator[bytes],
    stands: Standing,
    is_over: Callable[[], bool],
) -> Iterator[bytes]:
    yield from rows
    place = store.reading.epoch, stands.revision, _ALL
    yield _event("ready", b"", None, stands, place)
    yield from _follow(store, view, place, is_over)


def _follow(
    store: ViewStore, view: View, place: _Place, is_over: Callable[[], bool]
) -> Iterator[bytes]:
    while not is_over():
        # Looked at before the feed: what comes in between is waited for in vain.
        newest = store.reading.standing()
        told = store.reading.feed(view.name, place, _PAGE)
        for change in told:
            place = place[0], change.standing.revision, change.key
            op = "delete" if change.value is None else "upsert"
            yield _event(op, change.key, change.value, change.standing, place)
        if told or newest is None:
            continue
        # Nothing up to here: a view that is quiet for long must not seem forgotten.
        place = place[0], newest.revision, _ALL
        if not store.await_after(newest.revision, HEARTBEAT_SECONDS):
            yield b"id: %b\n: alive\n\n" % _text(place)


def _event(
    op: str, key: bytes, value: bytes | None, stands: Standing, place: _Place | None
) -> bytes:
    told: Mapping[str, object] = stands.plain()
    data = b'{"key":%b,"row":%b,"standing":%b}' % (
        json.dumps(key.decode(), ensure_ascii=False).encode(),
        value or b"null",
        json.dumps(told).encode(),
    )
    named = b"" if place is None else b"id: %b\n" % _text(place)
    return b"%bevent: %b\ndata: %b\n\n" % (named, op.encode(), data)


def _text(place: _Place) -> bytes:
    epoch, revision, key = place
    return f"{epoch}.{revision}.{base64.urlsafe_b64encode(key).decode()}".encode()


def _parse(text: str) -> _Place:
    try:
        epoch, revision, key = text.split(".")
        return epoch, int(revision), base64.urlsafe_b64decode(key)
    except ValueError as error:
        raise refused("the id is none that a watch has given") from error


def failed(error: ViewError) -> bytes:
    """Give the event that ends a watch: what came next is no longer known."""
    told = {word: getattr(error, word) for word in ("slug", "fact", "detail", "hint")}
    return b"event: error\ndata: %b\n\n" % json.dumps(told).encode()
