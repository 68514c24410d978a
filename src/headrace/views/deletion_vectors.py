"""Deletion vectors of Delta tables: which rows of a file are deleted.

A vector is a bitmap of row numbers in Roaring's portable form. It stands in the log
itself, or in a file beside the table's.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_letters, digits
from typing import Any
from urllib.parse import unquote
from uuid import UUID

_DIGITS = f"{digits}{ascii_letters}.-:+=^!/*?&<>()[]{{}}@%$#"
_UUID_DIGITS = 20
_MAGIC = 1681511377
_WITH_RUNS, _WITHOUT_RUNS = 12347, 12346
# Fewer containers than this have no list of their places, where there are runs.
_LISTED = 4
_LONGEST_ARRAY = 4096
_BITMAP_BYTES = 8192


def vector_id(told: Mapping[str, Any] | None) -> str:
    """Name a vector: a file with another one is another file to the log."""
    if not told:
        return ""
    return f"{told['storageType']}{told['pathOrInlineDv']}@{told.get('offset')}"


def deleted_rows(told: Mapping[str, Any], table: Path) -> list[int]:
    """Give the numbers of the rows that a vector deletes, counted from 0.

    Args:
        told: The vector as the log describes it.
        table: The table's directory.

    Raises:
        ValueError: It is not in a form that is known.
    """
    kind, text = told["storageType"], str(told["pathOrInlineDv"])
    if kind == "i":
        data = _bytes(text)
    else:
        file = Path(unquote(text).removeprefix("file:"))
        if kind == "u":
            prefix, named = text[:-_UUID_DIGITS], text[-_UUID_DIGITS:]
            name = f"deletion_vector_{UUID(bytes=_bytes(named)[:16])}.bin"
            file = table / prefix / name
        offset = int(told.get("offset") or 0)
        with file.open("rb") as opened:
            opened.seek(offset)
            (size,) = struct.unpack(">i", opened.read(4))
            data = opened.read(size)
    return list(_array(data))


def _bytes(text: str) -> bytes:
    """Read base 85 in the digits of Z85."""
    found = b""
    for first in range(0, len(text), 5):
        number = 0
        for digit in text[first : first + 5]:
            number = number * 85 + _DIGITS.index(digit)
        found += struct.pack(">I", number)
    return found


def _array(data: bytes) -> Iterator[int]:
    """Give the numbers of bitmaps that stand one behind the other."""
    magic, count = struct.unpack_from("<iq", data)
    if magic != _MAGIC:
        raise ValueError("its rows are in no form that is known here")
    at = 12
    for _ in range(count):
        (high,) = struct.unpack_from("<I", data, at)
        low, at = _bitmap(data, at + 4)
        yield from ((high << 32) | number for number in low)


def _bitmap(data: bytes, at: int) -> tuple[list[int], int]:
    """Give the numbers of a bitmap, and where it ends."""
    (cookie,) = struct.unpack_from("<I", data, at)
    at += 4
    has_runs = cookie & 0xFFFF == _WITH_RUNS
    if has_runs:
        count = (cookie >> 16) + 1
        runs = data[at : at + (count + 7) // 8]
        at += len(runs)
    elif cookie == _WITHOUT_RUNS:
        (count,) = struct.unpack_from("<I", data, at)
        runs = bytes((count + 7) // 8)
        at += 4
    else:
        raise ValueError("a bitmap is in no form that is known here")
    headers = [struct.unpack_from("<HH", data, at + 4 * n) for n in range(count)]
    at += 4 * count
    if not has_runs or count >= _LISTED:
        at += 4 * count
    found: list[int] = []
    for number, (high, last) in enumerate(headers):
        if runs[number // 8] >> (number % 8) & 1:
            low, at = _runs(data, at)
        elif last < _LONGEST_ARRAY:
            low = list(struct.unpack_from(f"<{last + 1}H", data, at))
            at += 2 * (last + 1)
        else:
            low = _bits(data[at : at + _BITMAP_BYTES])
            at += _BITMAP_BYTES
        found += [(high << 16) | one for one in low]
    return found, at


def _runs(data: bytes, at: int) -> tuple[list[int], int]:
    (count,) = struct.unpack_from("<H", data, at)
    at += 2
    found: list[int] = []
    for _ in range(count):
        start, more = struct.unpack_from("<HH", data, at)
        found += range(start, start + more + 1)
        at += 4
    return found, at


def _bits(data: bytes) -> list[int]:
    whole = int.from_bytes(data, "little")
    return [bit for bit in range(len(data) * 8) if whole >> bit & 1]
