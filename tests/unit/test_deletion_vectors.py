"""Deletion vectors of Delta tables, in each form that a bitmap can have."""

from __future__ import annotations

import struct
from pathlib import Path
from uuid import UUID

import pytest

from headrace.views.deletion_vectors import _DIGITS, deleted_rows

FEW = [0, 3, 70_000]
MANY = list(range(0, 20_000, 2))
RUNS = [*range(10, 500), *range(600, 602)]


def without_runs(numbers: list[int]) -> bytes:
    """Write a bitmap of arrays and bits, as Roaring specifies it."""
    groups: dict[int, list[int]] = {}
    for number in numbers:
        groups.setdefault(number >> 16, []).append(number & 0xFFFF)
    heads = b"".join(struct.pack("<HH", k, len(g) - 1) for k, g in groups.items())
    data = b""
    for group in groups.values():
        if len(group) <= 4096:
            data += struct.pack(f"<{len(group)}H", *group)
        else:
            data += sum(1 << bit for bit in group).to_bytes(8192, "little")
    places = bytes(4 * len(groups))
    return struct.pack("<II", 12346, len(groups)) + heads + places + data


def with_runs() -> bytes:
    """Write a bitmap of one group: two runs."""
    head = struct.pack("<I", 12347) + b"\x01" + struct.pack("<HH", 0, len(RUNS) - 1)
    return head + struct.pack("<HHHHH", 2, 10, 489, 600, 1)


def array(*bitmaps: tuple[int, bytes]) -> bytes:
    """Put bitmaps together to one of 64 bits."""
    told = b"".join(struct.pack("<I", high) + bitmap for high, bitmap in bitmaps)
    return struct.pack("<iq", 1681511377, len(bitmaps)) + told


def z85(data: bytes) -> str:
    text = ""
    for (number,) in struct.iter_unpack(">I", data + bytes(-len(data) % 4)):
        text += "".join(_DIGITS[number // 85**power % 85] for power in range(4, -1, -1))
    return text


@pytest.mark.parametrize(
    ("bitmap", "numbers"),
    [(without_runs(FEW), FEW), (without_runs(MANY), MANY), (with_runs(), RUNS)],
)
def test_a_vector_in_the_log_gives_its_rows(bitmap: bytes, numbers: list[int]) -> None:
    told = {"storageType": "i", "pathOrInlineDv": z85(array((0, bitmap)))}

    assert deleted_rows(told, Path()) == numbers


def test_a_vector_in_a_file_is_found_by_its_id(tmp_path: Path) -> None:
    name = UUID("1d53dc6c-3f0d-4f4e-8e36-0a3f6d6d4d8b")
    data = array((0, without_runs(FEW)), (1, without_runs([5])))
    place = tmp_path / "ab" / f"deletion_vector_{name}.bin"
    place.parent.mkdir()
    place.write_bytes(b"\x01" + struct.pack(">i", len(data)) + data + b"csum")
    told = {"storageType": "u", "pathOrInlineDv": f"ab{z85(name.bytes)}", "offset": 1}

    assert deleted_rows(told, tmp_path) == [*FEW, (1 << 32) + 5]


def test_a_vector_of_another_form_is_refused() -> None:
    told = {"storageType": "i", "pathOrInlineDv": z85(bytes(12))}

    with pytest.raises(ValueError, match="no form"):
        deleted_rows(told, Path())
