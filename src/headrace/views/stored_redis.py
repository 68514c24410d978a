"""Read views that are kept in Redis: a JSON text for each key, and the ledger."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit, urlunsplit

import redis

from headrace.plan.view import View
from headrace.views.answers import NOW, AsOf, Standing
from headrace.views.stored import (
    Rows,
    cursor_of,
    key_of,
    require_now,
    standing_of,
    unreachable,
)

_PAGE = 1000
_SPECIAL = re.compile(rb"([\\*?\[\]])")

_Found = TypeVar("_Found")


class RedisRows:
    """The rows of a view in Redis.

    A batch is not written there as a whole, so an answer may hold rows of the batch
    after the one that it names.

    Args:
        view: The view.
        address: The server's, as the sink is given it.
    """

    def __init__(self, view: View, address: str) -> None:
        self._view = view
        self._prefix = f"{view.target}:".encode()
        self._ledger = f"headrace:ledger:{view.pipeline}.{view.output}"
        self._client = _connected(address)

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def get(
        self, view: str, key: bytes, as_of: AsOf = NOW
    ) -> tuple[bytes | None, Standing]:
        """Give the row of a key, or None.

        Raises:
            ViewError: [view-not-ready], [view-without-history],
                [view-store-unreachable].
        """
        require_now(self._view, as_of)

        def ask() -> tuple[bytes | None, dict[bytes, bytes]]:
            with self._client.pipeline(transaction=True) as asked:
                asked.hgetall(self._ledger)
                asked.get(self._prefix + key)
                ledger, value = asked.execute()
                return value, ledger

        value, ledger = self._ask(ask)
        row = None if value is None else self._whole(value)
        return row, self._standing(ledger)

    def scan(
        self,
        view: str,
        prefix: bytes,
        limit: int,
        *,
        as_of: AsOf = NOW,
        cursor: str | None = None,
    ) -> tuple[Rows, Standing, str | None]:
        """Give rows in the order of their keys; all keys of the view are looked at.

        Raises:
            ViewError: As `get`; [view-request-refused] the cursor is none.
        """
        require_now(self._view, as_of)
        after = b"" if cursor is None else key_of(cursor, bytes)
        begin = self._prefix + prefix

        def ask() -> tuple[Rows, dict[bytes, bytes], str | None]:
            ledger: Any = self._client.hgetall(self._ledger)
            pattern = _SPECIAL.sub(rb"\\\1", begin) + b"*"
            found = {
                key.removeprefix(self._prefix)
                for key in self._client.scan_iter(pattern, count=_PAGE)
            }
            keys = sorted(key for key in found if key > after)
            rows = self._rows(keys[:limit])
            more = None
            if len(keys) > limit:
                more = cursor_of(keys[limit - 1])
            return rows, ledger, more

        rows, ledger, more = self._ask(ask)
        return rows, self._standing(ledger), more

    def _rows(self, keys: list[bytes]) -> Rows:
        if not keys:
            return []
        values: Any = self._client.mget([self._prefix + key for key in keys])
        # A key that was taken away meanwhile has none.
        found = zip(keys, values, strict=True)
        return [(key, self._whole(value)) for key, value in found if value is not None]

    def _whole(self, value: bytes) -> bytes:
        """Add the columns that are null, which the sink leaves out."""
        told = json.loads(value)
        missing = (n for n in self._view.columns.names if n not in told)
        nulls = "".join(f",{json.dumps(name)}:null" for name in missing)
        return value[:-1] + nulls.encode() + b"}"

    def _standing(self, ledger: dict[bytes, bytes]) -> Standing:
        records = [value for name, value in ledger.items() if name.endswith(b".record")]
        return standing_of(records, self._view, at=None, is_exact=False)

    def _ask(self, ask: Callable[[], _Found]) -> _Found:
        try:
            return ask()
        except redis.RedisError as error:
            raise unreachable(self._view, error) from error


def _connected(address: str) -> redis.Redis:
    parts = urlsplit(address)
    given = parse_qs(parts.query)
    password = None
    if "password_file" in given:
        password = Path(given["password_file"][0]).read_text().strip()
    plain = urlunsplit(parts._replace(query=""))
    return redis.Redis.from_url(plain, password=password, socket_timeout=10)
