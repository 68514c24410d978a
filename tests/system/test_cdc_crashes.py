"""Servers die in the middle of a capture, and the log ends like the tables."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread

import pytest

from headrace import CaptureError
from headrace.cdc import captures
from headrace.cdc.filling import topic_ends
from headrace.cdc.notes import SETTING, Notes
from headrace.cdc.snapshots import read_progress
from headrace.cdc.topics import ends_of
from headrace.cdc.watching import check
from headrace.cdc.wishes import Wish
from support.harness.capturing import USERS, Bank, kill
from support.harness.waiting import wait_until

ROWS = 30_000
NEXT = "select max(id) + 1 from users"


def written(bank: Bank) -> int:
    """Give how much the connector has written so far."""
    return sum(ends_of(bank.capture.kafka, bank.capture.topic(USERS)).values())


def test_rows_that_share_one_lsn_survive_a_killed_worker(bank: Bank) -> None:
    bank.make()
    # Less than a page holds: nearly every batch ends inside of a group.
    bank.add(settings={"max.batch.size": "50", "max.queue.size": "100"})
    bank.await_committed()
    with bank.db.cursor().copy("copy users (id, v) from stdin") as copy:
        for number in range(ROWS):
            copy.write_row((number + 100, f"copied {number}"))
    wait_until("some of it is in the log", lambda: written(bank) > 2_000, seconds=120)
    kill(bank.stack, "connect")
    some = written(bank)
    bank.stack.up(["connect"])

    bank.await_equal(seconds=240)
    seen = [id_ for id_, _, _ in bank.changes()]
    assert some < ROWS
    assert len(seen) == len(set(seen)) == ROWS + 3
    check(bank.capture)


def test_a_connect_that_starts_is_away_and_has_lost_no_connector(bank: Bank) -> None:
    bank.make()
    bank.add()
    kill(bank.stack, "connect")
    starting = Thread(target=bank.stack.up, args=[["connect"]])
    starting.start()
    found: set[str] = set()
    while starting.is_alive():
        try:
            config = bank.cluster.config(bank.capture.connector)
            found.add("missing" if config is None else "there")
        except CaptureError as error:
            found.add(error.slug)
    starting.join()

    assert found <= {"there", "connect-unreachable"}
    assert bank.cluster.config(bank.capture.connector) is not None


def test_a_change_right_behind_a_commit_is_not_taken_for_it(bank: Bank) -> None:
    """The commit's LSN is that of the next record, of a transaction begun before."""
    bank.make()
    bank.add()
    bank.await_committed()
    other = Bank(bank.stack, bank.name)

    def met(number: int) -> bool:
        bank.stop()
        bank.run("begin")
        bank.run("insert into users values (%s, 'first')", number)
        other.run("insert into users values (%s, 'between')", number + 1)
        behind = other.one("select pg_current_wal_insert_lsn() - '0/0'")
        bank.run("insert into users values (%s, 'behind')", number + 2)
        bank.cluster.resume(bank.capture.connector)
        bank.await_running()
        wait_until("it is read", lambda: number + 1 in bank.logged(), seconds=60)
        other.stop()
        bank.run("commit")
        offset = bank.cluster.offset(bank.capture.connector) or {}
        bank.cluster.resume(bank.capture.connector)
        return bool(offset["lsn"] == behind)

    # Unless a heartbeat came between.
    wait_until("the places are the same", lambda: met(other.one(NEXT)), seconds=240)
    bank.await_equal()
    other.db.close()
    check(bank.capture)


def test_a_killed_database_loses_and_doubles_nothing(bank: Bank) -> None:
    bank.make()
    bank.add()
    bank.await_committed()
    bank.run(
        "insert into users select i, 'before' from generate_series(10, 5000) i",
    )
    kill(bank.stack, "postgres")
    bank.stack.up(["postgres"])
    again = Bank(bank.stack, bank.name)
    again.run("insert into users select i, 'after' from generate_series(6000, 7000) i")

    again.await_equal(seconds=240)
    seen = [id_ for id_, _, _ in again.changes()]
    again.db.close()
    bank.db.close()
    bank.db = Bank(bank.stack, bank.name).db
    assert len(seen) == len(set(seen))


@pytest.mark.long
def test_a_snapshot_that_was_broken_off_leaves_no_row_behind(bank: Bank) -> None:
    """The first attempt's rows are in the log; one is gone before the second."""
    bank.make(rows=50)
    bank.make("public.waits")
    # A lock of the table would keep the slot from being made, too.
    bank.run(
        "create function opened() returns bool language plpgsql as "
        "'begin perform pg_advisory_xact_lock_shared(7); return true; end'"
    )
    bank.run("alter table waits enable row level security")
    bank.run("create policy reading on waits using (opened())")
    locked = Bank(bank.stack, bank.name)
    locked.run("select pg_advisory_lock(7)")
    wish = Wish((USERS, "public.waits"))

    with pytest.raises(InterruptedError):
        captures.add(bank.capture, wish, bank.login(), leave_when_started)
    # A table's last row is held until the next table is read.
    wait_until("rows are read", lambda: 7 in bank.logged(), seconds=120)
    kill(bank.stack, "connect")
    bank.run("delete from users where id = 7")
    locked.db.close()
    bank.stack.up(["connect"])
    wait_until(
        "the snapshot was read twice",
        lambda: read_progress(bank.capture).state == "done",
        seconds=120,
        step=0.5,
    )

    assert 7 in bank.logged()
    with pytest.raises(CaptureError, match="capture-snapshot-repeated"):
        check(bank.capture)
    assert captures.resnapshot(bank.capture) == 1
    bank.await_equal()
    check(bank.capture)


def leave_when_started(news: str) -> None:
    """End the command that waits for a snapshot, which would mend it itself."""
    if not news.startswith(("capturing", "waiting")):
        raise InterruptedError


@pytest.mark.long
def test_a_new_snapshot_that_was_not_finished_is_said_and_finished(bank: Bank) -> None:
    bank.make(rows=5)
    bank.add()
    bank.await_committed()
    config = bank.cluster.config(bank.capture.connector) or {}
    notes = Notes.read(config)
    assert notes is not None
    # As after a command that was killed behind the snapshot.
    cut = replace(notes, unfinished=topic_ends(bank.capture, [USERS]))
    bank.cluster.put(bank.capture.connector, {**config, SETTING: cut.text})
    bank.await_running()
    with pytest.raises(CaptureError, match="capture-unfinished"):
        check(bank.capture)
    bank.run("delete from users where id = 3")

    captures.resnapshot(bank.capture)
    bank.await_equal()
    check(bank.capture)


@pytest.mark.long
def test_changes_that_are_made_during_a_new_snapshot_are_kept(bank: Bank) -> None:
    bank.make(rows=2_000)
    bank.add(partitions=2)
    bank.await_committed()
    bank.stop()
    bank.drop_slot()
    bank.run("delete from users where id % 3 = 0")
    other = Bank(bank.stack, bank.name)
    healing = Thread(target=captures.resnapshot, args=[bank.capture])
    healing.start()
    number = 0
    while healing.is_alive():
        number += 1
        if number <= 600:
            other.run("insert into users values (%s, 'again')", 3 * number)
        else:
            other.run("update users set v = %s where id = 1", str(number))
    healing.join()
    other.db.close()

    bank.await_equal()
    check(bank.capture)
