"""A directory of files: only what a manifest names counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import sinks
from headrace.errors import DeliveryError
from headrace.sinks import read_files
from support.harness.handing import Handing, blocked
from support.harness.sleeping import SleepingSink

Make = Callable[..., Handing]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
def make(spark: SparkSession, tmp_path: Path, place: Path) -> Make:
    """Declare a sink for the one directory of a test."""

    def made(columns: str = "id bigint, name string", **options: Any) -> Handing:
        sink = sinks.files(str(place), **options)
        return Handing(spark, tmp_path, sink, columns=columns, key="id")

    return made


def rows(handing: Handing, place: Path) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, read_files(handing.spark, str(place)).collect()))


def data_files(place: Path) -> set[str]:
    return {path.name for path in place.rglob("*.parquet")}


def manifests(place: Path) -> list[dict[str, Any]]:
    files = sorted((place / "_headrace").glob("0*.json"))
    return [json.loads(file.read_text()) for file in files]


def test_what_a_failed_attempt_left_is_never_read_and_removed_at_the_next_start(
    make: Make, place: Path
) -> None:
    handing = make()
    handing.deliver(0, [(0, "a")])
    with (
        blocked(place / "_headrace" / f"{1:020}.json"),
        pytest.raises(DeliveryError, match="writer-fenced"),
    ):
        handing.deliver(1, [(1, "b")])
    assert len(data_files(place)) == 2
    assert rows(handing, place) == [(0, "a")]

    handing.deliver(1, [(1, "b")])
    named = {file for manifest in manifests(place) for file in manifest["files"]}
    assert data_files(place) == named
    assert not list((place / "_headrace" / "attempts").glob("*"))
    assert rows(handing, place) == [(0, "a"), (1, "b")]


def test_one_that_slept_cannot_name_files_that_were_removed(
    make: Make, place: Path
) -> None:
    handing = make()
    handing.deliver(0, [(0, "a")])
    zombie = SleepingSink(handing, "FilesSink")
    zombie.read_ledger()
    # As it is while the zombie's tasks write: an attempt was begun, a file is there.
    attempt = "1-batch-1-asleep"
    (place / "_headrace" / "attempts" / attempt).touch()
    (place / f"{attempt}-00000-x-c000.snappy.parquet").write_bytes(b"half")

    handing.deliver(1, [(1, "b")])
    assert not list(place.glob(f"{attempt}*"))
    with pytest.raises(DeliveryError, match="writer-fenced"):
        zombie.write(1, [(1, "asleep")])
    assert rows(handing, place) == [(0, "a"), (1, "b")]


def test_batches_without_rows_add_no_manifest_and_leave_no_gap(
    make: Make, place: Path
) -> None:
    handing = make()
    for number, batch in enumerate([[], [(1, "a")], [], [], [(2, "b")]]):
        handing.deliver(number, batch)
    handing.deliver(3, [])

    assert len(manifests(place)) == 2
    assert rows(handing, place) == [(1, "a"), (2, "b")]
    with pytest.raises(DeliveryError, match="ledger-gap"):
        handing.deliver(6, [])


def test_another_checkpoint_is_refused_until_it_is_adopted(
    make: Make, place: Path
) -> None:
    handing = make()
    handing.deliver(0, [(0, "a")])
    handing.begin_checkpoint("second")
    with pytest.raises(DeliveryError, match="checkpoint-missing"):
        handing.deliver(0, [(1, "b")])
    handing.deliver(0, [(1, "b")], adopt=["checkpoint"])

    assert rows(handing, place) == [(0, "a"), (1, "b")]
    assert manifests(place)[-1]["record"]["generation"] == 1


def test_a_directory_that_was_emptied_is_refused(make: Make, place: Path) -> None:
    handing = make()
    handing.deliver(0, [(0, "a")])
    place.rename(place.with_name("elsewhere"))

    with pytest.raises(DeliveryError, match="ledger-missing"):
        handing.deliver(1, [(1, "b")])


@pytest.mark.parametrize("format_", ["parquet", "json"])
def test_every_type_comes_out_as_it_went_in(
    make: Make, place: Path, format_: str
) -> None:
    columns = (
        "id bigint, price decimal(20,6), at timestamp, raw binary, "
        "place struct<lat:double,tags:array<string>>"
    )
    handing = make(columns, format=format_)
    at = datetime(2026, 2, 3, 4, 5, 6, 789012, tzinfo=UTC).replace(tzinfo=None)
    price = Decimal("12345678901234.012345")
    handing.deliver(0, [(1, price, at, b"\x00\xff", (0.1, ["a"])), (2, *[None] * 4)])

    first, second = read_files(handing.spark, str(place)).orderBy("id").collect()
    assert first.asDict(recursive=True) == {
        "id": 1,
        "price": price,
        "at": at,
        "raw": bytearray(b"\x00\xff"),
        "place": {"lat": 0.1, "tags": ["a"]},
    }
    assert tuple(second) == (2, *[None] * 4)


@pytest.mark.parametrize("format_", ["parquet", "json"])
def test_a_later_column_is_null_in_earlier_rows(
    make: Make, place: Path, format_: str
) -> None:
    handing = make(format=format_)
    handing.deliver(0, [(0, "a")])
    handing.columns = "id bigint, city string, name string"
    handing.deliver(1, [(1, "Rome", "b")])
    handing.columns = "id bigint, city string"
    handing.deliver(2, [(2, "Oslo")])

    assert rows(handing, place) == [(0, "a", None), (1, "b", "Rome"), (2, None, "Oslo")]


@pytest.mark.parametrize("format_", ["parquet", "json"])
def test_files_lie_by_any_value_of_a_partition(
    make: Make, place: Path, format_: str
) -> None:
    names = ["plain", "a/b=c", "st*r [0]", "ä %41", None]
    handing = make(format=format_, partition_by=["name"])
    handing.deliver(0, list(enumerate(names)))

    found = read_files(handing.spark, str(place)).orderBy("id").collect()
    assert [row.name for row in found] == names


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ("id bigint, name int", {}),
        ("id bigint, name string", {"format": "json"}),
        ("id bigint, name string", {"partition_by": ["name"]}),
    ],
)
def test_what_does_not_fit_is_refused_before_any_row(
    make: Make, place: Path, columns: str, options: dict[str, Any]
) -> None:
    first = make()
    first.deliver(0, [(0, "a")])
    other = make(columns, **options)
    other.pipeline = first.pipeline

    with pytest.raises(DeliveryError, match="sink-mismatch"):
        other.deliver(1, [(1, None)])
    assert len(manifests(place)) == 1


def test_a_directory_has_one_output(make: Make) -> None:
    make().deliver(0, [(0, "a")])
    other = make()

    with pytest.raises(DeliveryError, match="sink-mismatch"):
        other.deliver(0, [(1, "b")])


def test_a_directory_without_a_manifest_cannot_be_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(DeliveryError, match="nothing-written"):
        read_files(spark, str(tmp_path))
