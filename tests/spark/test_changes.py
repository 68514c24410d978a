"""Changes of captured tables, read from the connector's envelopes."""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import pytest
from py4j.protocol import Py4JJavaError

from headrace import CaptureError, digits, event
from headrace._spark.bridge import decode_captured
from headrace.delivery import named_failure
from headrace.event import event_type
from headrace.testing import captured
from support.fakes.kafka_rows import kafka_rows

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

PLACEHOLDER = "__debezium_unavailable_value"
AT = datetime(2026, 3, 1, 10, 30, 0, 123456, tzinfo=UTC)


@event(key="id")
class Account:
    id: int
    owner: str
    balance: Annotated[Decimal, digits(12, 2)]
    opened_on: date
    seen_at: datetime
    photo: bytes | None = None
    tags: list[str] | None = None
    codes: list[int] | None = None
    card: UUID | None = None
    cards: list[UUID] | None = None
    settings: str | None = None


ROW: dict[str, Any] = {
    "id": 1,
    "owner": "Ann",
    "balance": "12.50",
    "opened_on": "2020-02-29Z",
    "seen_at": "2026-03-01T10:30:00.123456Z",
    "photo": base64.b64encode(b"\x00\xff").decode(),
    "tags": ["a", "b"],
    "codes": [1, 2],
    "card": "00000000-0000-0000-0000-00000000000A",
    "cards": [],
    "settings": '{"dark":"yes"}',
}


def read(spark: SparkSession, *values: bytes | None) -> list[Row]:
    schema = json.dumps(event_type(Account).record.spark)
    rows = kafka_rows(spark, values).coalesce(1)
    try:
        return decode_captured(rows, schema, "accounts").collect()
    except Py4JJavaError as error:
        named = named_failure(str(error))
        if named is None:
            raise
        raise named from error


def refused(spark: SparkSession, value: bytes) -> CaptureError:
    with pytest.raises(CaptureError) as caught:
        read(spark, value)
    return caught.value


def envelope(**changed: Any) -> bytes:
    """Write an update, with other parts in place of its own; None takes one out."""
    told = json.loads(captured("update", ROW, position=(5, 9), at=AT)) | changed
    return json.dumps({k: v for k, v in told.items() if v is not ...}).encode()


def test_every_type_comes_out_as_it_was_declared(spark: SparkSession) -> None:
    (change,) = read(spark, captured("insert", ROW, at=AT))

    assert change["after"].asDict() == {
        "id": 1,
        "owner": "Ann",
        "balance": Decimal("12.50"),
        "opened_on": date(2020, 2, 29),
        "seen_at": AT.astimezone().replace(tzinfo=None),
        "photo": b"\x00\xff",
        "tags": ["a", "b"],
        "codes": [1, 2],
        "card": "00000000-0000-0000-0000-00000000000a",
        "cards": [],
        "settings": '{"dark":"yes"}',
    }


@pytest.mark.parametrize("op", ["insert", "update", "snapshot"])
def test_a_change_says_what_it_does(spark: SparkSession, op: str) -> None:
    (change,) = read(spark, captured(op, ROW, position=(5, 9), at=AT))

    assert (change["op"], change["is_snapshot"]) == (op, op == "snapshot")
    assert (change["position"], change["_major"], change["_minor"]) == (9, 5, 9)
    assert change["changed_at"] == AT.astimezone().replace(tzinfo=None)
    assert (change["before"], change["unchanged"]) == (None, [])
    assert change["_dead"] is None
    assert change["_origin"]["offset"] == 0


def test_a_deletion_tells_the_key_and_nothing_else(spark: SparkSession) -> None:
    (change,) = read(spark, captured("delete", {"id": 7}))

    assert (change["op"], change["after"]) == ("delete", None)
    assert change["before"]["id"] == 7
    assert change["before"]["owner"] is None


def test_a_tombstone_is_skipped(spark: SparkSession) -> None:
    changes = read(spark, captured("delete", {"id": 7}), None, captured("insert", ROW))

    assert [change["_origin"]["offset"] for change in changes] == [0, 2]


def test_the_transaction_is_that_of_the_metadata_or_the_source(
    spark: SparkSession,
) -> None:
    first = json.loads(captured("insert", ROW))
    first["source"]["txId"] = 571
    second = first | {"transaction": {"id": "571:99", "total_order": 1}}

    found = read(spark, *(json.dumps(told).encode() for told in (first, second)))

    assert [change["transaction"] for change in found] == ["571", "571:99"]


def test_mysql_folds_file_and_place_into_one_number(spark: SparkSession) -> None:
    def at(file: str, pos: int, row: int) -> bytes:
        source = {"connector": "mysql", "file": file, "pos": pos, "row": row}
        return envelope(source=source | {"ts_ms": 1, "snapshot": "false", "gtid": None})

    told = [at("bin.000009", 2**33, 1), at("bin.000010", 4, 0)]
    found = read(spark, *told, at("bin.000010", 4, 1))

    numbers = [(c["position"], c["_major"], c["_minor"]) for c in found]
    assert numbers == sorted(set(numbers))
    assert numbers[0][0] == 9 << 40 | 2**33


def test_changes_of_one_place_are_ordered_by_the_log(spark: SparkSession) -> None:
    """As MariaDB tells a transaction: each statement numbers its rows anew."""
    source = {"connector": "mariadb", "file": "bin.000001", "pos": 5778, "row": 0}
    source |= {"ts_ms": 1, "snapshot": None, "gtid": "0-1-16"}

    found = read(spark, *(envelope(source=source) for _ in range(3)))

    places = [(c["position"], c["_major"], c["_minor"]) for c in found]
    assert places == sorted(set(places))
    assert {change["position"] for change in found} == {1 << 40 | 5778}
    assert {change["transaction"] for change in found} == {"0-1-16"}


def test_a_source_without_a_position_has_none(spark: SparkSession) -> None:
    (change,) = read(spark, envelope(source={"ts_ms": 1, "snapshot": "last"}))

    assert (change["position"], change["_major"], change["_minor"]) == (None,) * 3
    assert change["is_snapshot"]


UNSENT = {
    "owner": PLACEHOLDER,
    "photo": base64.b64encode(PLACEHOLDER.encode()).decode(),
    "tags": [PLACEHOLDER],
    "codes": list(PLACEHOLDER.encode()),
    # As the connector makes a UUID of its placeholder.
    "cards": ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"],
    "settings": json.dumps({PLACEHOLDER: PLACEHOLDER}, separators=(",", ":")),
}


@pytest.mark.parametrize("column", list(UNSENT))
def test_a_value_that_was_not_sent_is_null_and_named(
    spark: SparkSession, column: str
) -> None:
    (change,) = read(spark, captured("update", ROW | {column: UNSENT[column]}))

    assert change["after"][column] is None
    assert change["unchanged"] == [column]


def test_a_row_may_lack_several_values(spark: SparkSession) -> None:
    bare = {"photo": PLACEHOLDER, "tags": [UNSENT["photo"]], "cards": UNSENT["cards"]}

    (change,) = read(spark, captured("update", ROW | bare))

    assert change["unchanged"] == ["photo", "tags", "cards"]
    assert change["after"]["owner"] == "Ann"


def test_a_list_that_only_looks_like_it_is_a_list(spark: SparkSession) -> None:
    odd = {"tags": [PLACEHOLDER, "b"], "codes": [95, 95]}

    (change,) = read(spark, captured("update", ROW | odd))

    assert change["after"]["tags"] == [PLACEHOLDER, "b"]
    assert change["after"]["codes"] == [95, 95]
    assert change["unchanged"] == []


def test_a_new_column_is_passed_over(spark: SparkSession) -> None:
    (change,) = read(spark, captured("insert", ROW | {"added": {"deep": [1]}}))

    assert change["after"]["owner"] == "Ann"


def test_an_optional_column_that_is_not_there_yet_is_null(spark: SparkSession) -> None:
    old = {name: value for name, value in ROW.items() if name != "tags"}

    (change,) = read(spark, captured("insert", old))

    assert change["after"]["tags"] is None


@pytest.mark.parametrize(
    ("changed", "detail"),
    [
        ({"owner": ...}, "after.owner: it is missing (field-missing)"),
        ({"owner": None}, "after.owner: it is null (field-null)"),
        ({"owner": 5}, "after.owner: a text is required, 5 came (field-wrong-type)"),
        ({"id": "one"}, "after.id: a whole number"),
        ({"id": 2**70}, "after.id: "),
        ({"balance": "12.505"}, "after.balance: a decimal of at most 10 digits"),
        ({"balance": "NaN"}, "after.balance: a decimal number is required"),
        ({"opened_on": 18321}, "after.opened_on: a date as text is required"),
        ({"opened_on": "2020-02-30Z"}, "after.opened_on: a date such as"),
        ({"seen_at": 1772361000}, "after.seen_at: a timestamp as text"),
        ({"photo": "/"}, "after.photo: base64 is required"),
        ({"tags": [1]}, "after.tags[0]: a text is required, 1 came"),
        ({"card": "no"}, "after.card: "),
    ],
)
def test_a_row_of_another_shape_stops_the_query(
    spark: SparkSession, changed: dict[str, Any], detail: str
) -> None:
    row = {k: v for k, v in (ROW | changed).items() if v is not ...}

    error = refused(spark, captured("update", row))

    assert error.slug == "table-shape-changed"
    assert error.detail is not None
    assert error.detail.startswith(f"at partition 0, offset 0: {detail}")
    assert "headrace tables rebuild" in (error.hint or "")


def test_a_row_before_of_another_shape_stops_the_query(spark: SparkSession) -> None:
    error = refused(spark, captured("update", ROW, before={"id": "one"}))

    assert error.slug == "table-shape-changed"
    assert "before.id" in (error.detail or "")


def test_a_truncation_stops_the_query(spark: SparkSession) -> None:
    error = refused(spark, captured("truncate"))

    assert error.slug == "table-truncated"
    assert error.fact == 'the table behind topic "payments" was truncated'


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"null",
        b"[]",
        b"7",
        b"{",
        b'{"op":"c"',
        b"\xff",
        b"{}",
        b'{"id":1,"owner":"Ann"}',
        envelope(op=...),
        envelope(op="m"),
        envelope(op="x"),
        envelope(op="c", after=None),
        envelope(op="d", before=None),
        envelope(source=...),
        envelope(source="no"),
        envelope(source={"lsn": 5}),
        json.dumps({"schema": {}, "payload": json.loads(envelope())}).encode(),
        envelope() + b" x",
    ],
)
def test_what_is_no_change_stops_the_query(spark: SparkSession, value: bytes) -> None:
    error = refused(spark, value)

    assert error.slug == "change-unreadable"
    assert "schemas.enable=false" in (error.hint or "")
