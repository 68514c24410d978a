"""Ask views from Python, over HTTP, with the standard library alone."""

from __future__ import annotations

import http.client
import json
from collections.abc import Generator, Iterator, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from headrace.errors import ViewError
from headrace.views.answers import (
    NOW,
    Answer,
    AsOf,
    Page,
    Standing,
    Update,
    moment_text,
)
from headrace.views.events import read_events
from headrace.views.keys import spoken

_SECONDS = 30.0
# A server says every ten seconds that it is there.
_SILENCE_SECONDS = 35.0

Key = str | Mapping[str, Any] | int | datetime
"""A key: as one value, or the values of its columns by name."""


class ViewClient:
    """Asks a server of views; not for several threads at once.

    Args:
        url: Where `headrace view serve` answers.

    Example:
        ``ViewClient("http://127.0.0.1:8650").get("velocity", {"card": "c1"}).row``
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.url = url
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._connection = http.client.HTTPConnection(
            self._host, self._port, timeout=_SECONDS
        )

    def __enter__(self) -> ViewClient:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def views(self) -> list[dict[str, Any]]:
        """Give the views that the server has, as they were declared.

        Raises:
            ViewError: [view-unreachable] nobody answers.
        """
        return list(self._ask("/views", {})["views"])

    def get(self, view: str, key: Key, *, as_of: AsOf = NOW) -> Answer:
        """Give the row of a key, or that there is none.

        Raises:
            ViewError: [view-unknown], [view-key-mismatch], [view-not-ready],
                [view-history-short], [view-batch-unknown], [view-unreachable].
        """
        asked = _keyed(key, "key") | _as_of(as_of)
        told = self._ask(f"/views/{quote(view, safe='')}/get", asked)
        return Answer(told["key"], told["row"], Standing.read(told["standing"]))

    def scan(
        self,
        view: str,
        prefix: Key = "",
        *,
        limit: int = 100,
        as_of: AsOf = NOW,
        cursor: str | None = None,
    ) -> Page:
        """Give rows in the order of their keys.

        Args:
            view: Of which view.
            prefix: What their keys begin with, or the values of its first columns.
            limit: How many at the most.
            as_of: When; by default now.
            cursor: That of the page before: goes on as of the same batch.

        Raises:
            ViewError: As `get`.
        """
        asked = {"limit": str(limit), **_keyed(prefix, "prefix"), **_as_of(as_of)}
        if cursor is not None:
            asked["cursor"] = cursor
        told = self._ask(f"/views/{quote(view, safe='')}/scan", asked)
        rows = [(row["key"], row["row"]) for row in told["rows"]]
        return Page(rows, Standing.read(told["standing"]), told["cursor"])

    def rows(
        self, view: str, prefix: Key = "", *, as_of: AsOf = NOW
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Give all rows, page by page, as of one batch.

        Raises:
            ViewError: As `get`.
        """
        page = self.scan(view, prefix, limit=1000, as_of=as_of)
        yield from page.rows
        while page.cursor is not None:
            page = self.scan(view, prefix, limit=1000, cursor=page.cursor)
            yield from page.rows

    def watch(
        self, view: str, *, after: str | None = None, with_rows: bool = False
    ) -> Generator[Update, None, None]:
        """Give each change of a view, as it comes; go on where the line broke.

        The first one is ``ready``, or the rows that are there and then ``ready``.

        Args:
            view: Of which view.
            after: The id of the last update that was taken; by default begin now.
            with_rows: Whether to begin with the rows that are there.

        Raises:
            ViewError: [view-history-short] what came next is no longer known;
                [view-unreachable] nobody answers; otherwise as `get`.
        """
        is_first = True
        while True:
            try:
                for update in self._hear(view, after, with_rows=with_rows):
                    if isinstance(update, str):
                        after = update
                        continue
                    if update.id:
                        after, is_first = update.id, False
                    yield update
            except (OSError, http.client.HTTPException) as error:
                if is_first and after is None:
                    raise self._unreachable(error) from error
            # The line broke, or the server ended: try again, or say that it is gone.
            if after is None:
                raise self._unreachable(ConnectionError("the line broke"))
            with_rows = False

    def _hear(
        self, view: str, after: str | None, *, with_rows: bool
    ) -> Generator[Update | str, None, None]:
        """Give updates, and now and then a mere id: so far nothing has come."""
        line = http.client.HTTPConnection(
            self._host, self._port, timeout=_SILENCE_SECONDS
        )
        headers = {} if after is None else {"Last-Event-ID": after}
        rows = "?rows=true" if with_rows else ""
        try:
            path = f"/views/{quote(view, safe='')}/watch{rows}"
            line.request("GET", path, headers=headers)
            answer = line.getresponse()
            if answer.status != http.client.OK:
                raise _error(answer.read())
            for op, mark, data in read_events(answer):
                if not data:
                    yield mark
                    continue
                told = json.loads(data)
                if op == "error":
                    raise _told(told)
                stands = Standing.read(told["standing"])
                yield Update(op, told["key"], told["row"], stands, mark)
        except ConnectionRefusedError as error:
            raise self._unreachable(error) from error
        finally:
            line.close()

    def _ask(self, path: str, asked: Mapping[str, str]) -> dict[str, Any]:
        target = f"{path}?{urlencode(asked)}" if asked else path
        try:
            body, status = self._request(target)
        except (http.client.HTTPException, OSError):
            # A connection at rest may have been closed; a new one tells.
            self._connection.close()
            try:
                body, status = self._request(target)
            except (http.client.HTTPException, OSError) as error:
                self._connection.close()
                raise self._unreachable(error) from error
        if status != http.client.OK:
            raise _error(body)
        told: dict[str, Any] = json.loads(body)
        return told

    def _request(self, target: str) -> tuple[bytes, int]:
        self._connection.request("GET", target)
        answer = self._connection.getresponse()
        return answer.read(), answer.status

    def _unreachable(self, error: Exception) -> ViewError:
        return ViewError(
            "view-unreachable",
            f"no server of views answers at {self.url}",
            detail=str(error) or type(error).__name__,
            hint="start one with `headrace view serve FILE`.",
        )


def _keyed(key: Key, name: str) -> dict[str, str]:
    if isinstance(key, Mapping):
        return {f"key.{column}": spoken(value) for column, value in key.items()}
    return {} if key == "" and name == "prefix" else {name: spoken(key)}


def _as_of(as_of: AsOf) -> dict[str, str]:
    if as_of.batch is not None:
        return {"as_of_batch": str(as_of.batch)}
    return {} if as_of.time is None else {"as_of": moment_text(as_of.time)}


def _error(body: bytes) -> ViewError:
    try:
        return _told(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return ViewError(
            "view-unreachable",
            "what answers is no server of views",
            detail=body[:200].decode(errors="replace"),
        )


def _told(told: Mapping[str, str | None]) -> ViewError:
    """Give the error that a server has named; its slug is one that has a page."""
    named = {word: told[word] for word in ("slug", "fact", "detail", "hint")}
    return ViewError(**named)  # type: ignore[arg-type]
