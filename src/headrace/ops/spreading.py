"""Put the records of each id together, in memory that is bounded.

Ids are spread over files by their hash, so that all records of an id are in one, and
then one file after the other is read.
"""

from __future__ import annotations

import hashlib
import struct
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_FILES = 128
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

    Example:
        >>> with Spreading() as spread:
        ...     for offset, id in enumerate((b"a", b"b", b"a")):
        ...         spread.add(id, Spot(0, offset))
        ...     sorted((id, len(spots)) for id, spots in spread.by_id())
        [(b'a', 2), (b'b', 1)]
    """

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._files: list[IO[bytes]] = []

    def __enter__(self) -> Spreading:
        made = tempfile.TemporaryDirectory(prefix="headrace-spread-")
        directory = Path(self._opened.enter_context(made))
        for number in range(_FILES):
            file = (directory / str(number)).open("w+b")
            self._files.append(self._opened.enter_context(file))
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def add(self, id_: bytes, spot: Spot) -> None:
        """Take a record; an id that is very long is known by its hash."""
        digest = hashlib.blake2b(id_, digest_size=16)
        name = id_ if len(id_) <= _LONGEST_ID else digest.hexdigest().encode()
        entry = _ENTRY.pack(len(name), spot.partition, spot.offset, spot.time)
        self._files[digest.digest()[0] % _FILES].write(entry + name)

    def by_id(self) -> Iterator[tuple[bytes, list[Spot]]]:
        """Give each id with its records, in order of partition and offset."""
        for file in self._files:
            found: dict[bytes, list[Spot]] = defaultdict(list)
            file.seek(0)
            while head := file.read(_ENTRY.size):
                size, *spot = _ENTRY.unpack(head)
                found[file.read(size)].append(Spot(*spot))
            for name, spots in found.items():
                yield name, sorted(spots)
