"""What can be asked over HTTP, and the answers as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from headrace.errors import ViewError
from headrace.plan.view import View
from headrace.views.answers import AsOf
from headrace.views.keys import key_of, prefix_of
from headrace.views.stored import Readings, Rowed

MOST_ROWS = 10_000
USUAL_ROWS = 100
MOST_ASKED = 8 * 1024

STATUS = {
    "view-unknown": 404,
    "view-history-short": 410,
    "view-batch-unknown": 404,
    "view-not-ready": 503,
    "view-busy": 503,
    "view-store-unreachable": 503,
    "view-read-only": 405,
}
"""Statuses of HTTP by error; others are 400."""

_KEY = "key."
_AS_OF = {"as_of", "as_of_batch"}


@dataclass(frozen=True)
class Question:
    """A question: what is asked of which view."""

    verb: str
    view: View | None
    asked: Mapping[str, str]

    @property
    def columns(self) -> dict[str, str]:
        """The values that are given for columns of the key."""
        return {
            name.removeprefix(_KEY): value
            for name, value in self.asked.items()
            if name.startswith(_KEY)
        }

    def require(self, *known: str) -> None:
        """Refuse what is asked for and not known.

        Raises:
            ViewError: [view-request-refused] a parameter is none of these.
        """
        for name in self.asked:
            if name not in known and not name.startswith(_KEY):
                raise refused(
                    f'there is no parameter "{name}"',
                    f"known are {', '.join(known)} and key.COLUMN.",
                )


def parse_question(target: str, views: Mapping[str, View]) -> Question:
    """Read the path and the parameters of a request.

    Raises:
        ViewError: [view-request-refused] there is no such path, or it is too long;
            [view-unknown] there is no such view.
    """
    if len(target) > MOST_ASKED:
        raise refused(f"the request is longer than {MOST_ASKED} bytes")
    parts = urlsplit(target)
    asked = dict(parse_qsl(parts.query, keep_blank_values=True))
    path = [unquote(part) for part in parts.path.strip("/").split("/")]
    match path:
        case ["views"]:
            return Question("list", None, asked)
        case ["views", name]:
            return Question("describe", require_known(name, views), asked)
        case ["views", name, ("get" | "scan" | "watch") as verb]:
            return Question(verb, require_known(name, views), asked)
    raise refused(
        f'there is nothing at "{parts.path}"',
        "ask /views, /views/NAME, and get, scan or watch below it.",
    )


def require_known(name: str, views: Mapping[str, View]) -> View:
    """Give a view by its name.

    Raises:
        ViewError: [view-unknown] there is none.
    """
    if name not in views:
        raise ViewError(
            "view-unknown",
            f'there is no view "{name}"',
            detail=f"there are {', '.join(sorted(views)) or 'none'}.",
        )
    return views[name]


def answer(question: Question, views: Mapping[str, View], readings: Readings) -> bytes:
    """Answer a question, but for a watch.

    Raises:
        ViewError: Why there is no answer.
    """
    view = question.view
    if view is None:
        question.require()
        return _dumped({"views": [describe(one) for one in views.values()]})
    if question.verb == "describe":
        question.require()
        return _dumped(describe(view))
    reading = readings[view.name]
    if question.verb == "get":
        return _get(question, view, reading)
    return _scan(question, view, reading)


def _get(question: Question, view: View, reading: Rowed) -> bytes:
    question.require("key", *_AS_OF)
    given = question.asked.get("key")
    key = key_of(view, question.columns if given is None else given)
    value, stands = reading.get(view.name, key, _as_of(question.asked))
    return b'{"key":%b,"row":%b,"standing":%b}\n' % (
        _dumped(key.decode()),
        value or b"null",
        _dumped(stands.plain()),
    )


def _scan(question: Question, view: View, reading: Rowed) -> bytes:
    question.require("prefix", "limit", "cursor", *_AS_OF)
    asked = question.asked
    prefix = prefix_of(view, asked.get("prefix", question.columns))
    rows, stands, more = reading.scan(
        view.name,
        prefix,
        _limit(asked),
        as_of=_as_of(asked),
        cursor=asked.get("cursor"),
    )
    told = [b'{"key":%b,"row":%b}' % (_dumped(k.decode()), value) for k, value in rows]
    return b'{"rows":[%b],"standing":%b,"cursor":%b}\n' % (
        b",\n".join(told),
        _dumped(stands.plain()),
        _dumped(more),
    )


def describe(view: View) -> dict[str, Any]:
    """Give a view's declaration as JSON has it."""
    return {
        "view": view.name,
        "pipeline": view.pipeline,
        "key": list(view.key),
        "key_column": view.key_column,
        "columns": {field.name: field.type.sql for field in view.columns},
        "store": view.store,
        "history_seconds": view.history.total_seconds(),
        "target": view.target,
    }


def error_json(error: ViewError) -> bytes:
    """Give an error as JSON has it."""
    told = {
        "slug": error.slug,
        "fact": error.fact,
        "detail": error.detail,
        "hint": error.hint,
    }
    return _dumped({"error": told})


def refused(fact: str, detail: str | None = None) -> ViewError:
    """Give the error of a request that is none."""
    return ViewError("view-request-refused", fact, detail=detail)


def _limit(asked: Mapping[str, str]) -> int:
    text = asked.get("limit", str(USUAL_ROWS))
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_ROWS:
        raise refused(f'the limit "{text}" is not a number from 1 to {MOST_ROWS}')
    return int(text)


def _as_of(asked: Mapping[str, str]) -> AsOf:
    batch, time = asked.get("as_of_batch"), asked.get("as_of")
    if batch is not None and time is not None:
        raise refused("as_of and as_of_batch exclude each other")
    if batch is not None:
        if not batch.isascii() or not batch.isdigit():
            raise refused(f'"{batch}" is no number of a batch')
        return AsOf(batch=int(batch))
    if time is None:
        return AsOf()
    try:
        at = datetime.fromisoformat(time)
    except ValueError as error:
        raise refused(
            f'"{time}" is no time', "such as 2026-01-31T12:00:00Z."
        ) from error
    if at.tzinfo is None:
        raise refused(f'"{time}" has no offset', "write Z behind a time of UTC.")
    return AsOf(time=at)


def _dumped(told: Any) -> bytes:
    return json.dumps(told, ensure_ascii=False).encode()
