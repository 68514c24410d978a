"""A sink's own ledger refuses what Kafka's does, and adopts what is said to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

from headrace import DeliveryError
from support.harness.direct import Direct
from support.harness.tables import Accounts, row
from support.harness.waiting import wait_until

KEYS = [f"k{number}" for number in range(9)]


@pytest.fixture
def accounts(postgres: str) -> Iterator[Accounts]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield Accounts.new(postgres, connection)


@pytest.fixture
def new_driver(
    spark: SparkSession, accounts: Accounts, tmp_path: Path
) -> Callable[..., Direct]:
    """Make a driver on a checkpoint of its own."""

    def make(checkpoint: str = "checkpoint", **changes: Any) -> Direct:
        return Direct(spark, tmp_path / checkpoint, accounts.sink(), **changes)

    return make


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(DeliveryError) as caught:
        call()
    return caught.value.slug


def all_at(cents: int) -> list[Any]:
    return [row(key, cents) for key in KEYS]


def test_another_checkpoint_is_adopted_as_a_new_generation(
    accounts: Accounts, new_driver: Callable[..., Direct]
) -> None:
    new_driver().run({0: [row("a", 1)], 1: [row("a", 2)]})
    other = new_driver("other")

    assert refused(lambda: other.run({0: [row("a", 3)]})) == "checkpoint-missing"
    other.run({0: [row("a", 3)]}, adopt=["checkpoint"])
    other.run({1: [row("a", 4)]})

    assert accounts.rows() == [("a", 4, None)]
    assert accounts.records()[0]["generation"] == 1
    third = new_driver("third")
    third.run({0: [row("a", 5)]}, adopt=["checkpoint"])
    assert accounts.records()[0]["generation"] == 2


def test_a_gap_a_lost_ledger_and_other_offsets_are_refused(
    accounts: Accounts, new_driver: Callable[..., Direct]
) -> None:
    driver = new_driver()
    driver.run({0: [row("a", 1)]})

    assert refused(lambda: driver.run({2: [row("a", 2)]})) == "ledger-gap"
    driver.run({2: [row("a", 2)]}, adopt=["gap"])

    def other_offsets() -> None:
        with driver.named():
            driver.open()
            driver.write(2, [row("a", 9)], offset=21)

    assert refused(other_offsets) == "offsets-changed"
    accounts.connection.execute("delete from headrace_delivery.ledger")
    assert refused(lambda: driver.run({3: [row("a", 3)]})) == "ledger-missing"
    driver.run({3: [row("a", 3)]}, adopt=["ledger"])
    assert accounts.rows() == [("a", 3, None)]


def test_a_batch_that_is_held_is_read_and_not_written(
    accounts: Accounts, new_driver: Callable[..., Direct]
) -> None:
    driver = new_driver()
    driver.run({0: [row("a", 1)], 1: [row("a", 2)]})
    accounts.execute("delete from {}")

    report = driver.run({0: [row("a", 1)], 1: [row("a", 2)]})

    assert accounts.rows() == []
    name = accounts.name.replace("_", "-")
    assert (report["rows"], report["held_by_sink"]) == ({name: 2}, {name: 2})


def test_lanes_are_changed_when_all_hold_the_same_batch(
    accounts: Accounts, new_driver: Callable[..., Direct]
) -> None:
    three = new_driver(lanes=3)
    three.run({0: all_at(1), 1: all_at(2)})
    assert sorted(accounts.records()) == [0, 1, 2]
    two = new_driver(lanes=2, lineage=three.lineage)

    assert refused(lambda: two.run({2: all_at(3)})) == "lanes-changed"
    two.run({2: all_at(3)}, adopt=["lanes"])
    two.run({2: all_at(3), 3: all_at(4)})

    assert sorted(accounts.records()) == [0, 1]
    assert accounts.rows() == [(key, 4, None) for key in KEYS]


def test_lanes_that_hold_different_batches_are_not_changed(
    accounts: Accounts, new_driver: Callable[..., Direct]
) -> None:
    three = new_driver(lanes=3)
    three.run({0: all_at(1)})
    accounts.connection.execute(
        "update headrace_delivery.ledger "
        "set record = jsonb_set(record, '{batch}', '7') where sink = %s and lane = 1",
        [f"direct.{accounts.name.replace('_', '-')}"],
    )
    two = new_driver(lanes=2, lineage=three.lineage)

    change = {1: all_at(2)}
    assert refused(lambda: two.run(change, adopt=["lanes"])) == "lanes-changed"


def test_rows_that_differ_in_a_lane_that_is_held_are_told(
    new_driver: Callable[..., Direct],
) -> None:
    driver = new_driver(lanes=2)
    driver.run({0: all_at(1)})

    other = {0: all_at(2)}
    assert refused(lambda: driver.run(other)) == "batch-not-deterministic"
    driver.run(other, adopt=["batch"])


def test_who_holds_a_lane_for_too_long_is_named(
    accounts: Accounts, new_driver: Callable[..., Direct]
) -> None:
    driver = new_driver()
    driver.run({0: [row("a", 1)]})
    with psycopg.connect(accounts.address, application_name="a zombie") as zombie:
        zombie.execute("select from headrace_delivery.ledger for update")

        with pytest.raises(DeliveryError) as caught:
            driver.run({1: [row("a", 2)]})

        assert caught.value.slug == "ledger-blocked"
        assert f"process {zombie.info.backend_pid}, a zombie, idle in transaction" in (
            str(caught.value.detail)
        )


def test_the_second_of_two_writers_waits_and_finds_the_batch_held(
    accounts: Accounts, new_driver: Callable[..., Direct]
) -> None:
    driver = new_driver()
    driver.run({0: [row("a", 1)]})
    name = accounts.name.replace("_", "-")
    reports: list[dict[str, Any]] = []
    with psycopg.connect(accounts.address) as first:
        first.execute(
            "update headrace_delivery.ledger set record = record "
            """|| '{"batch": 1, "offsets": ["{\\"in\\": {\\"0\\": 10}}"]}' """
            "where sink = %s",
            [f"direct.{name}"],
        )
        second = Thread(target=lambda: reports.append(driver.run({1: [row("a", 2)]})))
        second.start()
        wait_until("the second waits", lambda: _waits(accounts.connection))
        first.commit()
        second.join(60)

    assert reports[0]["held_by_sink"] == {name: 1}
    assert accounts.rows() == [("a", 1, None)]


def _waits(connection: psycopg.Connection) -> bool:
    found = connection.execute(
        "select from pg_stat_activity where wait_event_type = 'Lock' "
        "and application_name like 'headrace.direct.%'"
    )
    return found.fetchone() is not None
