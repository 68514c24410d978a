"""Look at output topics while a pipeline runs: does an id come a second time?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from threading import Event, Thread
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.log import LATEST, Reading, Span
from headrace.ops.ids import id_of

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

    from headrace.log import SchemaBook

_REMEMBERED = 250_000
_END_SECONDS = 10


class Recent:
    """The last ids, at least so many of them, and at most twice as many.

    Args:
        most: How many.

    Example:
        >>> recent = Recent(2)
        >>> [recent.repeats(id) for id in (b"a", b"b", b"a", b"c")]
        [False, False, True, False]
    """

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._young: set[bytes] = set()
        self._old: set[bytes] = set()

    def repeats(self, id_: bytes) -> bool:
        """Tell whether an id was there before, and remember it."""
        mark = hashlib.blake2b(id_, digest_size=8).digest()
        if mark in self._young or mark in self._old:
            return True
        if len(self._young) >= self._most:
            self._young, self._old = set(), self._young
        self._young.add(mark)
        return False


class Repeats:
    """Follows a topic from its end on, in a thread of its own.

    Args:
        reading: The topic's records that are written from now on.
        by: The column that is the id; None for the record's key.
        book: The schemas that values name.
        tell: Is told how many records repeat an id, when some do.
        warn: Is told, once, if the topic can be read no longer.
    """

    def __init__(
        self,
        reading: Reading,
        by: str | None,
        book: SchemaBook | None,
        *,
        tell: Callable[[int], None],
        warn: Callable[[str], None],
    ) -> None:
        self._reading, self._by, self._book = reading, by, book
        self._tell, self._warn = tell, warn
        self._enough = Event()
        self._thread = Thread(target=self._follow, name="repeats", daemon=True)

    def __enter__(self) -> Repeats:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join(_END_SECONDS)

    def _follow(self) -> None:
        recent = Recent()
        try:
            for batch in self._reading:
                ids = (id_of(event, self._by, self._book) for event in batch)
                found = [i for i in ids if i is not None and recent.repeats(i)]
                if found:
                    self._tell(len(found))
                if self._enough.is_set():
                    return
        except HeadraceError as error:
            self._warn(f"duplicates are counted no longer: {error.fact}")


def from_now_on(admin: AdminClient, bootstrap: str, topic: str) -> Reading:
    """Give the records that are written to a topic from now on.

    Raises:
        LogError: [topic-missing], [offsets-unknown].
    """
    return Reading(admin, bootstrap, topic, Span(place=LATEST, follow=True))
