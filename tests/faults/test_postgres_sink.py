"""What a table of PostgreSQL holds after batches, deletes and refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from headrace import DeliveryError
from headrace.delivery import SinkTerms
from support.harness.direct import Direct
from support.harness.tables import Accounts, row


@pytest.fixture
def accounts(postgres: str) -> Iterator[Accounts]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield Accounts.new(postgres, connection)


@pytest.fixture
def direct(spark: SparkSession, tmp_path: Path) -> Callable[..., Direct]:
    def make(sink: SinkTerms, **changes: Any) -> Direct:
        return Direct(spark, tmp_path / "checkpoint", sink, **changes)

    return make


def refusal(call: Callable[[], Any]) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        call()
    return caught.value


def test_the_last_row_of_a_key_stands_and_a_deleted_key_is_gone(
    accounts: Accounts, direct: Callable[..., Direct]
) -> None:
    first = [row("a", 1), row("b", 1), row("a", 2), ("c", None), row("d", 1)]
    second = [("a", None), row("b", 3, "new"), ("d", None), row("d", 4), ("b", None)]

    direct(accounts.sink()).run({0: first, 1: second, 2: [row("b", 5)]})

    assert accounts.rows() == [("b", 5, None), ("d", 4, None)]


def test_rows_that_are_added_need_no_key_and_take_no_delete(
    accounts: Accounts, direct: Callable[..., Direct]
) -> None:
    copy = direct(accounts.sink(mode="append"))
    twice = row("a", 1)
    without = (None, {"id": "b", "cents": 1})
    copy.run({0: [twice, twice, without]})

    error = refusal(lambda: copy.run({1: [("a", None)]}))

    assert error.slug == "row-refused"
    assert 'a delete, of key "a"' in error.fact
    assert accounts.ids() == ["a", "a", "b"]


def test_a_row_without_a_key_is_refused_where_rows_replace_each_other(
    accounts: Accounts, direct: Callable[..., Direct]
) -> None:
    rows = [row("a", 1), (None, {"id": "b", "cents": 1})]

    error = refusal(lambda: direct(accounts.sink()).run({0: rows}))

    assert (error.slug, error.fact) == (
        "row-refused",
        "a row cannot be written: one without a key",
    )
    assert accounts.rows() == []


def test_a_table_that_is_missing_is_made_with_its_key(
    accounts: Accounts, direct: Callable[..., Direct]
) -> None:
    direct(accounts.sink()).run({})

    found = accounts.connection.execute(
        "select column_name, data_type, is_nullable from information_schema.columns "
        "where table_name = %s order by ordinal_position",
        [accounts.name],
    ).fetchall()
    assert found == [
        ("id", "text", "NO"),
        ("cents", "bigint", "NO"),
        ("note", "text", "YES"),
    ]
    with pytest.raises(psycopg.errors.UniqueViolation):
        accounts.execute("insert into {} values ('a', 1), ('a', 2)")


@pytest.mark.parametrize(
    ("table", "detail"),
    [
        ("id text primary key, cents bigint", 'it has no column "note"'),
        (
            "id text, cents bigint, note text",
            'rows replace each other by "id", and it has no primary key or unique',
        ),
        (
            "id text, cents bigint, note text, unique (id, cents)",
            'rows replace each other by "id"',
        ),
        (
            "id text primary key, cents real, note text",
            'its column "cents" of type float4 does not hold every bigint as it is; '
            "bigint does",
        ),
        (
            "id text primary key, cents bigint, note text, branch text not null",
            'its column "branch" must not be null, has no default',
        ),
        (
            "id text primary key, cents bigint generated always as identity, note text",
            'the server computes its column "cents" itself',
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused_before_any_row(
    accounts: Accounts, direct: Callable[..., Direct], table: str, detail: str
) -> None:
    accounts.execute(f"create table {{}} ({table})")

    error = refusal(lambda: direct(accounts.sink()).run({0: [row("a", 1)]}))

    assert error.slug == "sink-mismatch"
    assert detail in str(error.detail)


def test_a_table_may_have_more_columns_and_other_types_that_fit(
    accounts: Accounts, direct: Callable[..., Direct]
) -> None:
    accounts.execute(
        "create table {0} (seen timestamptz default now(), note varchar(9), "
        "cents numeric, id text, number serial); create unique index on {0} (id)"
    )

    direct(accounts.sink()).run({0: [row("a", 1, "x"), row("b", 2**62)]})

    assert accounts.rows() == [("a", 1, "x"), ("b", 2**62, None)]


def test_a_row_that_breaks_a_constraint_is_named_and_nothing_is_half_written(
    accounts: Accounts, direct: Callable[..., Direct]
) -> None:
    accounts.execute(
        "create table {} (id text primary key, cents bigint check (cents >= 0), "
        "note text)"
    )
    good = [row(f"k{n}", n) for n in range(40)]
    bad = [*good[:23], row("culprit", -1, "overdrawn"), *good[23:]]
    copy = direct(accounts.sink())
    copy.run({0: [row("first", 1)]})

    error = refusal(lambda: copy.run({1: bad}))

    assert error.slug == "row-refused"
    assert 'the one of key "culprit"' in error.fact
    assert "violates check constraint" in str(error.detail)
    assert accounts.name.replace("_", "-") in str(error.detail)
    assert accounts.ids() == ["first"]
    assert accounts.records()[0]["batch"] == 0

    accounts.execute("alter table {} drop constraint " + f"{accounts.name}_cents_check")
    copy.run({1: bad})
    assert len(accounts.rows()) == 42


def test_a_text_that_a_database_cannot_hold_is_named(
    accounts: Accounts, direct: Callable[..., Direct]
) -> None:
    rows = [row("a", 1), row("zero", 1, "a\0b"), row("c", 1)]

    error = refusal(lambda: direct(accounts.sink()).run({0: rows}))

    assert error.slug == "row-refused"
    assert 'the one of key "zero"' in error.fact
    assert accounts.rows() == []


def test_a_table_made_anew_is_refused_until_it_is_adopted(
    accounts: Accounts, direct: Callable[..., Direct]
) -> None:
    copy = direct(accounts.sink())
    copy.run({0: [row("a", 1)]})
    accounts.execute("drop table {}")

    error = refusal(lambda: copy.run({1: [row("b", 1)]}))
    assert error.slug == "target-recreated"
    assert f"table public.{accounts.name}" in error.fact
    copy.run({1: [row("b", 1)]}, adopt=["topics"])

    assert accounts.rows() == [("b", 1, None)]


def test_a_table_that_is_exchanged_while_a_query_runs_is_noticed(
    accounts: Accounts, direct: Callable[..., Direct]
) -> None:
    copy = direct(accounts.sink(), patience=timedelta(seconds=20))

    def run() -> None:
        with copy.named():
            copy.open()
            copy.write(0, [row("a", 1)])
            accounts.execute(
                "drop table {0}; create table {0} "
                "(id text primary key, cents bigint, note text)"
            )
            copy.write(1, [row("b", 1)])

    error = refusal(run)
    assert error.slug == "target-recreated"
    assert accounts.rows() == []
