"""Put the records of each id together, in memory that is bounded.

Ids are spread over files by their hash, so that all records of an id are in one, and
then one file after the other is read. One that is too large is spread again.
"""

from __future__ import annotations

import hashlib
import struct
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO

_FILES = 32
_LARGEST_FILE = 32 * 2**20
# After so many rounds, what is left in a large file is an id that is itself large.
_MOST_ROUNDS = 3
_ENTRY = struct.Struct("<Hiqq")
_LONGEST_ID = 200


@dataclass(frozen=True, order=True)
class Spot:
    """A record: where it lies, and a time in milliseconds."""

    partition: int
    offset: int
    time: int = 0


class Spreading:
    """Takes records one by one, and gives them back by id.

    Args:
        largest: The bytes of a file that is read at once.
        round_: How often its records were spread before.

    Example:
        >>> with Spreading() as spread:
        ...     for offset, id in enumerate((b"a", b"b", b"a")):
        ...         spread.add(id, Spot(0, offset))
        ...     sorted((id, len(spots)) for id, spots in spread.by_id())
        [(b'a', 2), (b'b', 1)]
    """

    def __init__(self, *, largest: int = _LARGEST_FILE, round_: int = 0) -> None:
        self._largest, self._round = largest, round_
        self._opened = ExitStack()
        self._files: dict[int, IO[bytes]] = {}

    def __enter__(self) -> Spreading:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def add(self, id_: bytes, spot: Spot) -> None:
        """Take a record; an id that is very long is known by its hash."""
        digest = hashlib.blake2b(id_, digest_size=16)
        name = id_ if len(id_) <= _LONGEST_ID else digest.hexdigest().encode()
        entry = _ENTRY.pack(len(name), spot.partition, spot.offset, spot.time)
        number = digest.digest()[self._round] % _FILES
        if number not in self._files:
            # Closed with all others, at the end.
            file = self._opened.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            self._files[number] = file
        self._files[number].write(entry + name)

    def by_id(self) -> Iterator[tuple[bytes, list[Spot]]]:
        """Give each id with its records, in order of partition and offset."""
        for file in self._files.values():
            if file.tell() > self._largest and self._round < _MOST_ROUNDS:
                yield from self._spread_again(file)
                continue
            found: dict[bytes, list[Spot]] = defaultdict(list)
            for name, spot in _entries(file):
                found[name].append(spot)
            for name, spots in found.items():
                yield name, sorted(spots)

    def _spread_again(self, file: IO[bytes]) -> Iterator[tuple[bytes, list[Spot]]]:
        deeper = Spreading(largest=self._largest, round_=self._round + 1)
        with deeper:
            for name, spot in _entries(file):
                deeper.add(name, spot)
            yield from deeper.by_id()


def _entries(file: IO[bytes]) -> Iterator[tuple[bytes, Spot]]:
    file.seek(0)
    while head := file.read(_ENTRY.size):
        size, *spot = _ENTRY.unpack(head)
        yield file.read(size), Spot(*spot)
