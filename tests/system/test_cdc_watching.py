"""What goes wrong with a capture is named, never passed over, and mended."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest

from headrace import CaptureError
from headrace.cdc import captures
from headrace.cdc.pg_session import connected
from headrace.cdc.status import status_of
from headrace.cdc.watching import Watch, check, problems
from support.harness.capturing import USERS, Bank
from support.harness.waiting import wait_until


@pytest.fixture
def captured(bank: Bank) -> Bank:
    """Give a bank whose users are captured and have changed since."""
    bank.make(rows=5)
    bank.add()
    bank.run("insert into users values (6, 'streamed')")
    bank.await_equal()
    bank.await_committed()
    return bank


def lose(bank: Bank) -> None:
    """Change what a gap would swallow: a row more, a row less, a row changed."""
    bank.run("insert into users values (7, 'in the gap')")
    bank.run("delete from users where id = 1")
    bank.run("update users set v = 'changed in the gap' where id = 2")


def mend(bank: Bank) -> None:
    """Read the tables again, and see that nothing is left of the gap."""
    captures.resnapshot(bank.capture)
    bank.run("insert into users values (8, 'afterwards')")
    bank.await_equal()
    bank.await_running()
    check(bank.capture)


def dropped_while_it_stands(bank: Bank) -> None:
    bank.stop()
    bank.drop_slot()
    lose(bank)
    bank.cluster.resume(bank.capture.connector)


def dropped_while_it_runs(bank: Bank) -> None:
    bank.drop_slot()
    lose(bank)


def made_anew(bank: Bank) -> None:
    bank.stop()
    bank.drop_slot()
    lose(bank)
    slot = bank.capture.slot
    bank.run("select pg_create_logical_replication_slot(%s, 'pgoutput')", slot)
    bank.cluster.resume(bank.capture.connector)


def advanced(bank: Bank) -> None:
    bank.stop()
    lose(bank)
    slot = bank.capture.slot
    bank.run("select pg_replication_slot_advance(%s, pg_current_wal_lsn())", slot)


def publication_dropped(bank: Bank) -> None:
    bank.run(f"drop publication {bank.capture.slot}")
    lose(bank)


def publication_made_anew(bank: Bank) -> None:
    publication_dropped(bank)
    bank.run(f"create publication {bank.capture.slot} for table users")


def taken_out(bank: Bank) -> None:
    bank.run(f"alter publication {bank.capture.slot} set (publish = 'insert')")
    lose(bank)


def taken_out_and_put_in(bank: Bank) -> None:
    bank.make("public.others")
    bank.run(f"alter publication {bank.capture.slot} add table others")
    bank.run(f"alter publication {bank.capture.slot} drop table users")
    lose(bank)
    bank.run(f"alter publication {bank.capture.slot} add table users")


@pytest.mark.parametrize(
    ("fault", "slug"),
    [
        (dropped_while_it_stands, "capture-slot-missing"),
        (dropped_while_it_runs, "capture-slot-missing"),
        (made_anew, "capture-slot-moved"),
        (advanced, "capture-slot-moved"),
        (publication_dropped, "capture-publication-missing"),
        (publication_made_anew, "capture-publication-missing"),
        (taken_out, "capture-publication-missing"),
        (taken_out_and_put_in, "capture-publication-missing"),
    ],
)
def test_a_gap_is_named_and_a_new_snapshot_mends_it(
    captured: Bank, fault: Callable[[Bank], None], slug: str
) -> None:
    fault(captured)
    captured.await_problem(slug)
    with pytest.raises(CaptureError) as raised:
        check(captured.capture)
    with pytest.raises(CaptureError) as refused:
        captures.resume(captured.capture)

    assert raised.value.slug == slug
    assert refused.value.slug == slug
    assert captured.logged() != captured.rows()
    mend(captured)


def test_a_slot_that_has_lost_wal_is_named_though_the_connector_waits(
    captured: Bank,
) -> None:
    captured.stop()
    captured.run("alter system set max_slot_wal_keep_size = '1MB'")
    captured.run("select pg_reload_conf()")
    captured.run("create table filling (v text)")
    try:
        for _ in range(4):
            captured.run("insert into filling select repeat('x', 1000)")
            captured.run("select pg_switch_wal()")
        captured.run("checkpoint")
        lose(captured)
        captured.cluster.resume(captured.capture.connector)
        captured.await_problem("capture-slot-lost")
    finally:
        captured.run("alter system reset max_slot_wal_keep_size")
        captured.run("select pg_reload_conf()")
    state = captured.cluster.state(captured.capture.connector)

    assert state is not None
    assert not state.is_failed
    mend(captured)


@pytest.mark.parametrize(
    ("statement", "detail"),
    [
        ("revoke select on users from {role}", "may not select from public.users"),
        ("alter role {role} noreplication", "has no REPLICATION"),
        ("alter role {role} nologin", "has no LOGIN"),
    ],
)
def test_a_right_that_was_taken_is_named_and_given_again(
    captured: Bank, statement: str, detail: str
) -> None:
    captured.run(statement.format(role=captured.capture.slot))
    (problem,) = problems(captured.capture)
    captures.resume(captured.capture)

    assert problem.slug == "capture-permission-denied"
    assert detail in str(problem.detail)
    captured.run("insert into users values (9, 'afterwards')")
    captured.await_equal()
    check(captured.capture)


def test_rows_that_are_hidden_from_the_role_are_named_before_they_can_lack(
    captured: Bank,
) -> None:
    captured.run("alter table users enable row level security")
    (problem,) = problems(captured.capture)
    with pytest.raises(CaptureError, match="capture-rows-hidden"):
        captures.resnapshot(captured.capture)

    assert problem.slug == "capture-rows-hidden"
    captured.run(f"alter role {captured.capture.slot} bypassrls")
    mend(captured)


def test_a_look_waits_for_no_lock_on_a_table(captured: Bank) -> None:
    with psycopg.connect(captured.capture.url) as other:
        other.execute("lock table users in access exclusive mode")
        status = status_of(captured.capture)

    assert status.problems == ()
    assert status.standing.reading


def test_a_lock_that_others_hold_is_named(bank: Bank) -> None:
    bank.make()
    url = bank.capture.url
    with psycopg.connect(url) as other:
        other.execute("lock table users in access exclusive mode")
        with (
            pytest.raises(CaptureError, match="capture-blocked") as blocked,
            connected(url, bank.name) as connection,
        ):
            connection.execute("set lock_timeout = '100ms'; select from users")

    assert "lock timeout" in str(blocked.value.detail)


def test_a_database_that_does_not_answer_is_unreachable(bank: Bank) -> None:
    with (
        pytest.raises(CaptureError, match="database-unreachable"),
        connected(bank.capture.url, bank.name, seconds=0.5) as connection,
    ):
        connection.execute("select pg_sleep(25)")


def test_a_key_that_was_dropped_is_named(captured: Bank) -> None:
    captured.run("alter table users drop constraint users_pkey")
    captured.await_problem("capture-key-missing")
    with pytest.raises(CaptureError, match="capture-key-missing"):
        captures.resnapshot(captured.capture)

    captured.run("alter table users add primary key (id)")
    mend(captured)


def test_a_table_that_was_dropped_is_named(captured: Bank) -> None:
    captured.run("drop table users")

    assert {"capture-table-missing", "capture-publication-missing"} == set(
        captured.slugs()
    )


def test_a_failed_connector_is_named_with_its_cause(captured: Bank) -> None:
    captured.run(
        "insert into users select 20, string_agg(md5(i::text), '') from "
        "generate_series(1, 80000) i"
    )
    captured.await_problem("capture-failed")
    (problem,) = problems(captured.capture)
    status = status_of(captured.capture)

    assert "larger than" in str(problem.detail)
    assert len(str(problem.detail).splitlines()) == 1
    assert status.task == "failed"
    assert [p.slug for p in status.problems] == ["capture-failed"]


def test_what_is_not_captured_is_said_to_be_missing(bank: Bank) -> None:
    with pytest.raises(CaptureError, match="capture-missing"):
        check(bank.capture)


def test_a_quiet_database_lets_the_servers_wal_go(captured: Bank) -> None:
    def confirmed() -> int:
        return int(
            captured.one(
                "select confirmed_flush_lsn - '0/0' from pg_replication_slots "
                "where slot_name = %s",
                captured.capture.slot,
            )
        )

    other = captured.capture.url.replace(f"/{captured.name}?", "/postgres?")
    with psycopg.connect(other, autocommit=True) as busy:
        busy.execute("create table if not exists busy (v text)")
        busy.execute(
            "insert into busy select repeat('x', 100) from generate_series(1, 20000)"
        )
        (written,) = (
            busy.execute("select pg_current_wal_lsn() - '0/0'").fetchone() or ()
        )
    before = len(captured.changes())

    wait_until("the slot follows", lambda: confirmed() >= written, seconds=90, step=0.5)
    assert len(captured.changes()) == before


def test_a_server_that_is_away_is_borne_for_a_while(captured: Bank) -> None:
    now = 0.0
    watch = Watch(captured.capture, timedelta(seconds=60), lambda: now)
    away = CaptureError("database-unreachable", "it is away")
    watch.judge([away])
    now = 50.0
    watch.judge([away])
    watch.judge([])
    now = 130.0
    watch.judge([away])
    now = 191.0
    with pytest.raises(CaptureError, match="database-unreachable"):
        watch.judge([away])


def test_a_watch_is_quiet_while_all_is_well(captured: Bank) -> None:
    Watch(captured.capture).check()

    assert captured.slugs() == []
    assert status_of(captured.capture).tables[0].table == USERS
