"""Where a view's rows are read: in the embedded store, in Redis or in PostgreSQL."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol, TypeVar

from headrace.errors import ViewError
from headrace.plan.view import View
from headrace.sinks import Servers
from headrace.views.answers import NOW, AsOf, Standing

Rows = list[tuple[bytes, bytes]]
_Key = TypeVar("_Key")


class Rowed(Protocol):
    """Gives the rows of views, as JSON, with what they reflect."""

    def get(
        self, view: str, key: bytes, as_of: AsOf = NOW
    ) -> tuple[bytes | None, Standing]:
        """Give the row of a key, or None."""

    def scan(
        self,
        view: str,
        prefix: bytes,
        limit: int,
        *,
        as_of: AsOf = NOW,
        cursor: str | None = None,
    ) -> tuple[Rows, Standing, str | None]:
        """Give rows in the order of their keys, and a cursor if there are more."""


@contextlib.contextmanager
def opened(view: View, servers: Servers) -> Iterator[Rowed]:
    """Open the store of a view that is kept in Redis or PostgreSQL.

    Args:
        view: The view.
        servers: Where the servers are.

    Raises:
        ServiceError: [server-unknown] nobody knows the server.
        ViewError: [view-store-unreachable] it does not answer.

    Example:
        ``with opened(bank.views[0], servers) as rows: rows.get("users", b"17")``
    """
    # Their clients are loaded by those who use them.
    if view.store == "redis":
        from headrace.views.stored_redis import RedisRows  # noqa: PLC0415

        rows: Any = RedisRows(view, servers.redis())
    else:
        from headrace.plan.view_sinks import DATABASE  # noqa: PLC0415
        from headrace.views.stored_postgres import PostgresRows  # noqa: PLC0415

        rows = PostgresRows(view, servers.database(DATABASE))
    try:
        yield rows
    finally:
        rows.close()


def standing_of(
    records: Iterable[str | bytes], view: View, *, at: datetime | None, is_exact: bool
) -> Standing:
    """Give what the records of a sink's ledger say that its rows reflect.

    Of several lanes it is the batch that all of them hold; one that is ahead may have
    written rows of the next.

    Raises:
        ViewError: [view-not-ready] there is none.
    """
    told = [json.loads(record) for record in records]
    if not told or len(told) < told[0]["lanes"]:
        raise ViewError(
            "view-not-ready",
            f'view "{view.name}" holds no batch yet',
            detail="the pipeline has written none.",
            hint="start the pipeline with `headrace run`, and ask again.",
        )
    batches = {int(record["batch"]) for record in told}
    lineages = {str(record["lineage"]) for record in told}
    agree = len(batches) == len(lineages) == 1
    return Standing(min(lineages), min(batches), 0, at, is_exact=is_exact and agree)


def require_now(view: View, as_of: AsOf) -> None:
    """Refuse to look back where nothing is remembered.

    Raises:
        ViewError: [view-without-history] the store holds the newest rows alone.
    """
    if not as_of.is_now:
        raise without_history(view)


def without_history(view: View) -> ViewError:
    """Give the error of who asks a store that does not remember."""
    return ViewError(
        "view-without-history",
        f'view "{view.name}" is kept in {view.store}, which does not remember',
        detail="rows as they were, and watching, are for embedded views.",
        hint='leave out store="...", or read the newest rows.',
    )


def unreachable(view: View, error: Exception) -> ViewError:
    """Give the error of a store that does not answer."""
    return ViewError(
        "view-store-unreachable",
        f'the store of view "{view.name}" does not answer',
        detail=str(error).strip() or type(error).__name__,
        hint=f"`headrace status` shows whether {view.store} runs.",
    )


Readings = Mapping[str, Rowed]
"""Where each view is read, by its name."""


def cursor_of(key: bytes) -> str:
    """Write down behind which key the next scan goes on."""
    return base64.urlsafe_b64encode(key).decode()


def key_of(cursor: str, read: Callable[[bytes], _Key]) -> _Key:
    """Give the key that `cursor_of` has written down, read as the store has keys.

    Raises:
        ViewError: [view-request-refused] it has not.
    """
    try:
        return read(base64.urlsafe_b64decode(cursor))
    except ValueError as error:
        raise ViewError(
            "view-request-refused", "the cursor is none that a scan has given"
        ) from error
