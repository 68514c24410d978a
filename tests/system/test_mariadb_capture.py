"""MariaDB captured on the real servers: every change once, gaps named and mended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from headrace import CaptureError
from headrace.cdc import captures
from headrace.cdc.lag import lag_of
from headrace.cdc.my_session import connected
from headrace.cdc.place import Capture
from headrace.cdc.status import status_of
from headrace.cdc.systems import system_of
from headrace.cdc.topics import ends_of
from headrace.cdc.watching import check
from headrace.cdc.wishes import Wish
from headrace.services import Stack
from support.harness.capturing import kill
from support.harness.shops import Shop, open_mariadb, shop_on
from support.harness.stacks import servers
from support.harness.waiting import wait_until


@pytest.fixture(scope="module")
def maria_stack() -> Iterator[Stack]:
    with servers() as stack:
        stack.up(["kafka", "mariadb", "connect"])
        yield stack


@pytest.fixture
def shop(maria_stack: Stack, request: pytest.FixtureRequest) -> Iterator[Shop]:
    """Give a database of the test's own, whose capture is removed afterwards."""
    mark = hashlib.sha256(request.node.name.encode()).hexdigest()[:8]
    with shop_on(maria_stack, f"shop_{mark}") as shop:
        yield shop


def refused(shop: Shop, *tables: str, **wish: Any) -> CaptureError:
    """Give the refusal of a capture, and see that nothing was made for it."""
    with pytest.raises(CaptureError) as found:
        shop.add(*tables, **wish)
    users = shop.run("select 1 from mysql.user where user = %s", shop.capture.slot)
    assert users == []
    assert shop.cluster.config(shop.capture.connector) is None
    assert ends_of(shop.capture.kafka, shop.capture.notices) == {}
    return found.value


def test_the_log_ends_like_the_table(shop: Shop) -> None:
    shop.make(rows=5)
    shop.add()
    shop.run("insert into users values (6, null), (7, 'Zoë 😀'), (8, '')")
    shop.run("update users set v = 'changed' where id in (1, 6)")
    shop.run("delete from users where id = 2")
    shop.run("update users set id = 30 where id = 3")
    with shop.transaction() as cursor:
        cursor.execute("insert into users values (9, 'never')")
        cursor.execute("delete from users")
        cursor.connection.rollback()
        for number in range(4):
            cursor.execute("update users set v = %s where id = 5", (f"{number}",))
        cursor.connection.commit()

    shop.await_equal()

    assert shop.changes() == [
        *((number, "r", "old") for number in range(1, 6)),
        *((6, "c", None), (7, "c", "Zoë 😀"), (8, "c", "")),
        *((1, "u", "changed"), (6, "u", "changed")),
        *((2, "d", None), (2, None, None)),
        *((3, "d", None), (3, None, None), (30, "c", "old")),
        *((5, "u", f"{number}") for number in range(4)),
    ]
    check(shop.capture)
    status = status_of(shop.capture)
    assert (status.connector, status.task, status.problems) == ("running",) * 2 + ((),)
    assert [(t.snapshot, t.rows) for t in status.tables] == [("done", 5)]
    assert lag_of(shop.capture, shop.table)[-1].changes >= 9


VALUES = """
create table things (
  id int primary key, price decimal(30,10), big bigint unsigned, small tinyint(1),
  day date, at timestamp(6) null, local datetime(6), clock time(6), born year,
  bits bit(8), yes bit(1), raw varbinary(8), state enum('new','it''s'),
  tags set('x','y'), doc json, size double, doubled int as (id * 2) stored,
  given int default 7
)"""
FILLED = """
insert into things (id, price, big, small, day, at, local, clock, born, bits, yes, raw,
  state, tags, doc, size, given)
values (%s, '12345678901234567890.0000000001', 18446744073709551615, 1, '0999-12-31',
  '2026-03-01 10:30:00.123456', '9999-12-31 23:59:59.999999', '23:59:59.000001', 2026,
  b'10100001', b'1', x'00ff', 'it''s', 'x,y', '{"a": 1.10}', 0.1, null)"""
TOLD = {
    "price": "12345678901234567890.0000000001",
    "big": 18446744073709551615,
    "small": 1,
    "day": "0999-12-31Z",
    "at": "2026-03-01T10:30:00.123456Z",
    "local": "9999-12-31T23:59:59.999999Z",
    "clock": "23:59:59.000001Z",
    "born": 2026,
    "bits": "oQ==",
    "yes": True,
    "raw": "AP8=",
    "state": "it's",
    "tags": "x,y",
    "doc": '{"a": 1.10}',
    "size": 0.1,
    "given": None,
}


def test_values_of_every_kind_arrive_exactly_by_snapshot_and_by_change(
    shop: Shop,
) -> None:
    things = f"{shop.name}.things"
    shop.run(VALUES)
    shop.run(FILLED, 1)
    shop.run("insert into things (id) values (2)")
    shop.add(things)
    shop.run(FILLED, 3)
    shop.run("insert into things (id) values (4)")
    wait_until("four rows", lambda: len(shop.records(things)) == 4, step=0.5)

    found = [
        json.loads(record.value or b"")["after"] for record in shop.records(things)
    ]

    nothing = dict.fromkeys(TOLD) | {"given": 7}
    for number, (row, told) in enumerate(
        zip(found, (TOLD, nothing, TOLD, nothing), strict=True), 1
    ):
        assert row == told | {"id": number, "doubled": number * 2}
    text = system_of(shop.capture).describe(shop.capture, things)
    assert "    price: Annotated[Decimal, digits(30, 10)] | None\n" in text
    assert "    at: datetime | None\n" in text
    assert 'IT_S = "it\'s"' in text


def test_a_killed_worker_loses_and_doubles_nothing(shop: Shop) -> None:
    shop.make(rows=3)
    shop.add(settings={"max.batch.size": "200", "max.queue.size": "400"})
    topic = shop.capture.topic(shop.table)
    # In one transaction, whose changes share one place in the log.
    with shop.transaction() as cursor:
        cursor.execute("insert into users select seq, 'new' from seq_100_to_9000")
        for number in range(300):
            cursor.execute("update users set v = %s where id = 1", (f"{number}",))
        cursor.connection.commit()
    wait_until(
        "some of it is in the log",
        lambda: sum(ends_of(shop.capture.kafka, topic).values()) > 1_000,
        seconds=60,
    )
    kill(shop.stack, "connect")
    some = sum(ends_of(shop.capture.kafka, topic).values())
    for number in range(300, 310):
        shop.run("update users set v = %s where id = 1", f"{number}")
    shop.stack.up(["connect"])

    shop.await_equal(seconds=120)

    assert some < 9_000
    changes = shop.changes()
    new = [id_ for id_, op, _ in changes if op == "c"]
    assert new == list(range(100, 9_001))
    assert [v for _, op, v in changes if op == "u"] == [f"{n}" for n in range(310)]
    assert len(changes) == 3 + len(new) + 310
    check(shop.capture)


def test_a_killed_server_loses_and_doubles_nothing(shop: Shop) -> None:
    shop.make()
    shop.add()
    shop.run("insert into users select seq, 'before' from seq_10_to_500")
    kill(shop.stack, "mariadb")
    shop.stack.up(["mariadb"])
    shop.db.close()
    shop.db = open_mariadb(shop.stack, database=shop.name)
    shop.run("insert into users values (600, 'after')")

    shop.await_equal(seconds=120)

    seen = [id_ for id_, _, _ in shop.changes()]
    assert len(seen) == len(set(seen)) == 3 + 491 + 1


def test_purged_logs_are_named_and_mended(shop: Shop) -> None:
    shop.make(rows=5)
    shop.add()
    shop.run("insert into users values (6, 'streamed')")
    shop.await_equal()
    shop.cluster.stop(shop.capture.connector)
    shop.run("insert into users values (7, 'in the gap')")
    shop.run("delete from users where id = 1")
    shop.purge()

    named = shop.slugs()
    with pytest.raises(CaptureError) as not_resumed:
        captures.resume(shop.capture)
    deleted = captures.resnapshot(shop.capture)
    shop.run("insert into users values (8, 'afterwards')")

    assert named == ["capture-binlog-lost"]
    assert not_resumed.value.slug == "capture-binlog-lost"
    assert "was purged" in str(not_resumed.value)
    assert deleted == 1
    shop.await_equal()
    check(shop.capture)


def test_logs_that_were_begun_anew_are_named_and_mended(shop: Shop) -> None:
    shop.make()
    shop.add()
    shop.run("insert into users values (6, 'streamed')")
    shop.await_equal()
    shop.cluster.stop(shop.capture.connector)
    shop.run("reset master")
    shop.run("insert into users values (7, 'in the gap')")

    named = shop.slugs()
    captures.resnapshot(shop.capture)

    assert named == ["capture-binlog-lost"]
    shop.await_equal()
    check(shop.capture)


def test_a_right_that_was_taken_is_named_and_given_again(shop: Shop) -> None:
    shop.make()
    shop.add()
    role = shop.capture.slot
    shop.run("revoke select on users from %s@'%%'", role)
    shop.run("revoke replication slave on *.* from %s@'%%'", role)

    with pytest.raises(CaptureError) as found:
        check(shop.capture)
    captures.resume(shop.capture)

    assert found.value.slug == "capture-permission-denied"
    assert f'"{role}" may not select from {shop.table}' in str(found.value)
    assert f'"{role}" has no REPLICATION SLAVE' in str(found.value)
    check(shop.capture)


def test_a_connector_that_stumbles_is_named_and_mended(shop: Shop) -> None:
    """A table of somebody else, of a type that the connector cannot read."""
    shop.make()
    shop.add()
    shop.run("create table hosts (id inet6 primary key)")
    shop.run("insert into users values (6, 'behind it')")

    shop.await_problem("capture-failed")
    captures.resnapshot(shop.capture)

    shop.await_equal()
    check(shop.capture)


@pytest.mark.parametrize(
    ("setting", "value", "usual"),
    [
        ("binlog_format", "mixed", "row"),
        ("binlog_row_image", "minimal", "full"),
        ("log_bin_compress", "on", "off"),
    ],
)
def test_a_server_whose_log_lacks_something_is_refused(
    shop: Shop, setting: str, value: str, usual: str
) -> None:
    shop.make()
    shop.run(f"set global {setting} = {value}")
    try:
        found = refused(shop)
    finally:
        shop.run(f"set global {setting} = {usual}")

    assert found.slug == "capture-unsupported"
    assert f"{setting} = {value}" in str(found)


def test_a_log_that_begins_to_lack_something_is_named(shop: Shop) -> None:
    shop.make()
    shop.add()
    shop.run("set global binlog_row_image = minimal")
    try:
        named = shop.slugs()
    finally:
        shop.run("set global binlog_row_image = full")

    assert named == ["capture-unsupported"]


@pytest.mark.parametrize(
    ("columns", "slug", "said"),
    [
        ("id int", "capture-key-missing", "no primary key"),
        ("id uuid primary key", "capture-column-unsupported", "uuid"),
        ("id inet6 primary key", "capture-column-unsupported", "inet6"),
    ],
)
def test_a_table_that_could_not_be_told_is_refused(
    shop: Shop, columns: str, slug: str, said: str
) -> None:
    shop.run(f"create table users ({columns})")

    found = refused(shop)

    assert found.slug == slug
    assert said in str(found)


def test_times_beyond_a_day_are_refused(shop: Shop) -> None:
    shop.run("create table users (id int primary key, t time)")
    shop.run("insert into users values (1, '25:00:00')")

    assert refused(shop).slug == "capture-column-unsupported"


def test_a_lock_that_others_hold_is_named(shop: Shop) -> None:
    shop.make()
    asked = f"set statement lock_wait_timeout = 1 for select id from {shop.table}"  # noqa: S608
    with shop.transaction() as other:
        other.execute(f"lock tables {shop.table} write")
        with (
            pytest.raises(CaptureError, match="capture-blocked"),
            connected(shop.capture.url, shop.name) as session,
        ):
            session.rows(asked)


def test_what_is_no_table_is_refused(shop: Shop) -> None:
    shop.run("create view seen as select 1 as id")

    assert refused(shop).slug == "capture-table-missing"
    assert "it is a view" in str(refused(shop, f"{shop.name}.seen"))
    assert refused(shop, slot="mine").slug == "capture-setting-refused"


def test_a_user_that_may_do_more_is_somebody_elses(shop: Shop) -> None:
    shop.make()
    role = shop.capture.slot
    shop.run("create user %s@'%%' identified by 'theirs'", role)
    shop.run("grant insert on *.* to %s@'%%'", role)
    try:
        with pytest.raises(CaptureError) as found:
            shop.add()
    finally:
        shop.run("drop user %s@'%%'", role)

    assert found.value.slug == "capture-name-taken"


def test_a_role_without_its_rights_cannot_be_given_them_by_everybody(
    shop: Shop,
) -> None:
    shop.make()
    shop.run("create user 'clerk'@'%' identified by 'clerk'")
    shop.run("create user 'reader'@'%' identified by 'reader'")
    shop.run("grant select on *.* to 'clerk'@'%'")
    shop.run("grant binlog monitor on *.* to 'clerk'@'%'")
    port = shop.stack.site().port("mariadb")
    clerk = Capture(
        shop.name,
        f"mariadb://clerk:clerk@127.0.0.1:{port}/",
        shop.capture.connect,
        shop.capture.kafka,
    )
    try:
        with pytest.raises(CaptureError) as found:
            system_of(clerk).prepare(
                clerk, Wish((shop.table,)), shop.login("reader"), (shop.table,)
            )
    finally:
        shop.run("drop user 'clerk'@'%', 'reader'@'%'")

    assert found.value.slug == "capture-permission-denied"
    assert "CREATE USER" in str(found.value)


def test_further_tables_are_read_with_all_others(shop: Shop) -> None:
    shop.make(rows=3)
    shop.make(f"{shop.name}.cards", rows=4)
    shop.add()
    shop.cluster.stop(shop.capture.connector)
    shop.run("delete from users where id = 2")
    shop.cluster.resume(shop.capture.connector)

    told = shop.add(shop.table, f"{shop.name}.cards")
    again = shop.add(shop.table)

    assert any("all tables are read again" in news for news in told)
    assert again == ["every table is captured already"]
    shop.await_equal()
    shop.await_equal(f"{shop.name}.cards")
    check(shop.capture)


def test_what_was_made_is_taken_away(shop: Shop) -> None:
    shop.make()
    shop.add()
    role = shop.capture.slot
    granted = [text for (text,) in shop.run("show grants for %s@'%%'", role)]

    gone = captures.remove(shop.capture, topics=True)

    assert len(granted) == 2
    assert granted[0].startswith("GRANT RELOAD, REPLICATION SLAVE, BINLOG MONITOR ON")
    assert granted[1].startswith("GRANT SELECT ON `")
    assert gone[0] == f'user "{role}"'
    assert f'topic "{shop.capture.shapes}"' in gone
    assert shop.run("select 1 from mysql.user where user = %s", role) == []
    for topic in (shop.capture.shapes, shop.capture.topic(shop.table)):
        assert ends_of(shop.capture.kafka, topic) == {}
