"""A Delta table takes each batch once, replaces and removes by key, and must fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headrace import sinks
from headrace.errors import DeliveryError, HeadraceError
from headrace.sinks import DeltaSink
from support.harness.handing import Handing

Make = Callable[..., Handing]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def make(spark: SparkSession, tmp_path: Path, place: Path) -> Make:
    """Declare a sink for the one table of a test."""

    def made(columns: str = "id bigint, name string", **options: Any) -> Handing:
        return Handing(
            spark,
            tmp_path,
            sinks.delta(str(place), **options),
            columns=columns,
            key="id",
        )

    return made


def table(handing: Handing) -> DataFrame:
    assert isinstance(handing.sink, DeltaSink)
    return handing.spark.read.format("delta").load(handing.sink.place)


def rows(handing: Handing, *columns: str) -> list[tuple[Any, ...]]:
    frame = table(handing)
    return sorted(map(tuple, frame.select(*columns or frame.columns).collect()))


def versions(place: Path) -> int:
    return len(list((place / "_delta_log").glob("*.json")))


def refused(slug: str) -> pytest.RaisesExc[HeadraceError]:
    return pytest.raises(DeliveryError, check=lambda error: error.slug == slug)


def test_a_merge_keeps_the_last_row_of_a_key_and_removes_deleted_keys(
    make: Make,
) -> None:
    handing = make(mode="merge")
    handing.deliver(0, [(1, "a"), (2, "b"), (1, "c"), (3, "d")])
    assert rows(handing) == [(1, "c"), (2, "b"), (3, "d")]

    handing.deliver(1, [(2, "e"), (4, "f")], deleted=["2", "3", "99"])
    assert rows(handing) == [(1, "c"), (4, "f")]

    handing.deliver(2, [(2, "back")])
    assert rows(handing) == [(1, "c"), (2, "back"), (4, "f")]


EVERY_TYPE = (
    "id bigint, price decimal(38,10), at timestamp, day date, raw binary, "
    "flag boolean, ratio double, place struct<lat:double,tags:array<string>>"
)


@pytest.mark.parametrize("mode", ["append", "merge"])
def test_every_type_comes_out_as_it_went_in(make: Make, mode: str) -> None:
    handing = make(EVERY_TYPE, mode=mode)
    at = datetime(2026, 2, 3, 4, 5, 6, 789012, tzinfo=UTC).replace(tzinfo=None)
    price = Decimal("1234567890123456789012345678.0123456789")
    full = (1, price, at, date(1970, 1, 1), b"\x00\xff", True, 0.1, (1.5, ["a", None]))
    empty = (2, *[None] * 7)
    handing.deliver(0, [full, empty])

    found = table(handing).orderBy("id").collect()
    assert found[0].asDict(recursive=True) == {
        "id": 1,
        "price": price,
        "at": at,
        "day": date(1970, 1, 1),
        "raw": bytearray(b"\x00\xff"),
        "flag": True,
        "ratio": 0.1,
        "place": {"lat": 1.5, "tags": ["a", None]},
    }
    assert tuple(found[1]) == empty


def test_columns_that_a_table_lacks_are_added_at_the_start(make: Make) -> None:
    make(mode="merge").deliver(0, [(1, "a")])
    wider = make("id bigint, city string, name string", mode="merge")
    wider.pipeline = "handing-wider"
    wider.deliver(0, [(2, "Rome", "b")])

    assert rows(wider, "id", "name", "city") == [(1, "a", None), (2, "b", "Rome")]


def test_a_table_with_more_columns_takes_rows_without_them(make: Make) -> None:
    wide = make("id bigint, name string, city string")
    wide.deliver(0, [(1, "a", "Rome")])
    wide.columns = "id bigint, name string"
    wide.deliver(1, [(2, "b")])

    assert rows(wide) == [(1, "a", "Rome"), (2, "b", None)]


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ("id bigint, name int", {}, '"name" is STRING there, and INT here'),
        ("id bigint, name string", {"partition_by": ["id"]}, "partitioned by nothing"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_row(
    make: Make, place: Path, columns: str, options: dict[str, Any], said: str
) -> None:
    make().deliver(0, [(1, "a")])
    before = versions(place)

    with refused("sink-mismatch") as refusal:
        make(columns, **options).deliver(0, [(2, None)])
    assert said in str(refusal.value)
    assert versions(place) == before


def test_a_table_lies_in_directories_by_its_partitions(make: Make, place: Path) -> None:
    handing = make(partition_by=["name"])
    handing.deliver(0, [(1, "a"), (2, "b/ä"), (3, None)])

    assert sorted(p.name for p in place.glob("name=*")) == [
        "name=__HIVE_DEFAULT_PARTITION__",
        "name=a",
        "name=b%2Fä",
    ]
    assert table(handing).count() == 3


def test_a_row_without_a_key_is_refused_and_nothing_is_merged(
    make: Make, place: Path
) -> None:
    handing = make(mode="merge")
    handing.deliver(0, [(1, "a")])
    with refused("row-refused"):
        handing.deliver(1, [(2, "b"), (None, "c")])

    assert rows(handing) == [(1, "a")]


def test_a_row_that_breaks_the_tables_constraint_is_refused(
    make: Make, place: Path
) -> None:
    handing = make()
    handing.deliver(0, [(1, "a")])
    handing.spark.sql(
        f"ALTER TABLE delta.`{place}` ADD CONSTRAINT positive CHECK (id > 0)"
    )
    with refused("row-refused") as refusal:
        handing.deliver(1, [(2, "b"), (-1, "c")])

    assert "positive" in str(refusal.value)
    assert rows(handing) == [(1, "a")]


def test_batches_without_rows_commit_nothing_and_leave_no_gap(
    make: Make, place: Path
) -> None:
    handing = make()
    handing.deliver(0, [(1, "a")])
    before = versions(place)
    for number in (1, 2, 3):
        handing.deliver(number, [])
    assert versions(place) == before

    handing.deliver(4, [(2, "b")])
    handing.deliver(2, [])
    handing.deliver(4, [(2, "b")])
    assert rows(handing) == [(1, "a"), (2, "b")]


def test_a_gap_is_refused(make: Make) -> None:
    handing = make()
    handing.deliver(0, [(1, "a")])
    with refused("ledger-gap"):
        handing.deliver(2, [(3, "c")])

    assert rows(handing) == [(1, "a")]
    handing.deliver(2, [(3, "c")], adopt=["gap"])
    assert rows(handing) == [(1, "a"), (3, "c")]


def test_a_lost_mark_is_found_again_in_the_tables_log(make: Make, place: Path) -> None:
    handing = make(mode="merge", optimise_every=2)
    for number in range(4):
        handing.deliver(number, [(number, "a")])
    [mark] = (place / "_headrace").iterdir()
    mark.unlink()
    # Other writers' commits are no records, whatever they say of themselves.
    handing.spark.sql(f"DELETE FROM delta.`{place}` WHERE id = 0")  # noqa: S608

    report = handing.deliver(3, [(3, "a")])
    assert report["held_batches"] == 1
    handing.deliver(4, [(4, "a")])
    assert [key for key, _ in rows(handing)] == [1, 2, 3, 4]


def test_a_mark_of_an_earlier_batch_is_corrected_by_the_log(
    make: Make, place: Path
) -> None:
    handing = make()
    handing.deliver(0, [(1, "a")])
    [mark] = (place / "_headrace").iterdir()
    before = mark.read_bytes()
    handing.deliver(1, [(2, "b")])
    # As if the driver had died between the commit and the mark.
    mark.write_bytes(before)

    assert handing.deliver(1, [(2, "b")])["held_batches"] == 1
    assert rows(handing) == [(1, "a"), (2, "b")]


def test_a_mark_of_another_table_is_not_believed(make: Make, place: Path) -> None:
    handing = make()
    handing.deliver(0, [(1, "a")])
    [mark] = (place / "_headrace").iterdir()
    told = json.loads(mark.read_text())
    told["table"], told["record"]["batch"] = "another", 7
    mark.write_text(json.dumps(told))

    handing.deliver(1, [(2, "b")])
    assert rows(handing) == [(1, "a"), (2, "b")]


def test_another_checkpoint_is_refused_until_it_is_adopted_and_the_old_one_then(
    make: Make,
) -> None:
    handing = make(mode="merge")
    handing.deliver(0, [(1, "a")])
    handing.deliver(1, [(2, "b")])
    handing.begin_checkpoint("second")
    with refused("checkpoint-missing"):
        handing.deliver(0, [(1, "second")])
    handing.deliver(0, [(1, "second")], adopt=["checkpoint"])
    assert rows(handing) == [(1, "second"), (2, "b")]

    # The driver of the first one was asleep, and goes on with its next batch.
    handing.begin_checkpoint("first")
    with refused("checkpoint-missing"):
        handing.deliver(2, [(1, "asleep")])
    handing.begin_checkpoint("second")
    handing.deliver(1, [(3, "c")])
    assert rows(handing) == [(1, "second"), (2, "b"), (3, "c")]


def test_a_table_that_was_deleted_is_not_written_on_until_that_is_adopted(
    make: Make, place: Path
) -> None:
    handing = make()
    handing.deliver(0, [(1, "a")])
    shutil.rmtree(place)
    with refused("ledger-missing"):
        handing.deliver(1, [(2, "b")])
    handing.deliver(1, [(2, "b")], adopt=["ledger"])

    assert rows(handing) == [(2, "b")]


def test_small_files_are_put_together_as_often_as_asked(
    make: Make, place: Path
) -> None:
    handing = make(optimise_every=3)
    files = [
        (handing.deliver(n, [(n, "a")]), len(table(handing).inputFiles()))[1]
        for n in range(4)
    ]

    assert files == [1, 2, 1, 2]
    assert rows(handing) == [(n, "a") for n in range(4)]


def test_a_table_is_found_by_its_name_in_the_catalog(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.sql(
        f"CREATE TABLE named (id BIGINT, name STRING) USING delta LOCATION "
        f"'{tmp_path}/named'"
    )
    try:
        sink = sinks.delta("named", mode="merge")
        handing = Handing(
            spark, tmp_path, sink, columns="id bigint, name string", key="id"
        )
        handing.deliver(0, [(1, "a"), (2, "b")])
        handing.deliver(0, [(1, "a"), (2, "b")])
        handing.deliver(1, [(1, "c")], deleted=["2"])

        assert [tuple(row) for row in spark.table("named").collect()] == [(1, "c")]
    finally:
        spark.sql("DROP TABLE named")
