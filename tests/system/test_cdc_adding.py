"""Captures are made whole or not at all, widened, and taken away without a trace."""

from __future__ import annotations

import json
import runpy
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from headrace import CaptureError
from headrace.cdc import captures
from headrace.cdc.lag import lag_of
from headrace.cdc.status import status_of
from headrace.cdc.systems import system_of
from headrace.cdc.topics import ends_of
from headrace.cdc.watching import check
from headrace.cdc.wishes import Wish
from headrace.event import event_type
from support.harness.capturing import USERS, Bank
from support.harness.observe import headrace
from support.harness.waiting import wait_until

CARDS = "public.cards"


def traces(bank: Bank) -> list[str]:
    """Give what a capture has left in the database and in Connect."""
    questions = (
        "select 'slot' from pg_replication_slots where slot_name = %s",
        "select 'publication' from pg_publication where pubname = %s",
        "select 'role' from pg_roles where rolname = %s",
    )
    found = [row for sql in questions for row in bank.run(sql, bank.capture.slot)]
    if bank.cluster.config(bank.capture.connector) is not None:
        found.append(("connector",))
    return [trace for (trace,) in found]


def test_a_capture_begins_with_every_row_and_goes_on_with_every_change(
    bank: Bank,
) -> None:
    bank.make(rows=3)
    told = bank.add()
    bank.run("insert into users values (4, 'new')")
    bank.run("update users set v = 'newer' where id = 4")
    bank.run("delete from users where id = 1")

    bank.await_equal()
    assert told[-1] == "public.users done (3 rows)"
    assert bank.changes() == [
        (1, "r", "old"),
        (2, "r", "old"),
        (3, "r", "old"),
        (4, "c", "new"),
        (4, "u", "newer"),
        (1, "d", None),
        (1, None, None),
    ]
    check(bank.capture)


def test_the_connectors_role_can_read_the_tables_and_nothing_else(bank: Bank) -> None:
    bank.make()
    bank.make(CARDS)
    bank.add()
    role = bank.capture.slot

    def may(what: str, table: str) -> bool:
        return bool(
            bank.one("select has_table_privilege(%s, %s, %s)", role, table, what)
        )

    assert may("select", USERS)
    assert not may("select", CARDS)
    assert not may("insert, update, delete", USERS)
    assert bank.run(
        "select rolsuper, rolcreatedb, rolcreaterole, rolreplication from pg_roles "
        "where rolname = %s",
        role,
    ) == [(False, False, False, True)]


def test_a_password_is_named_to_connect_and_never_told(bank: Bank) -> None:
    bank.make()
    bank.add()
    config = bank.cluster.config(bank.capture.connector)
    directory = bank.stack.run_directory.path
    file = directory / "connect" / "passwords" / bank.capture.slot / "password"
    password = file.read_text()

    assert config is not None
    assert len(password) >= 32
    assert config["database.password"].startswith("${directory:")
    assert password not in json.dumps(config)
    assert file.stat().st_mode & 0o777 == 0o600
    logs = [*directory.glob("*/*.log"), *directory.glob("kafka-1/**/*.log")]
    assert len(logs) > 3
    assert [log for log in logs if password.encode() in log.read_bytes()] == []


def test_adding_what_is_captured_changes_nothing(bank: Bank) -> None:
    bank.make()
    bank.add()
    config = bank.cluster.config(bank.capture.connector)
    ends = ends_of(bank.capture.kafka, bank.capture.topic(USERS))

    assert bank.add() == ["every table is captured already"]
    assert bank.cluster.config(bank.capture.connector) == config
    assert ends_of(bank.capture.kafka, bank.capture.topic(USERS)) == ends


def test_a_table_without_a_key_is_refused_before_anything_is_made(bank: Bank) -> None:
    bank.run("create table users (id int, v text)")
    with pytest.raises(CaptureError) as refused:
        bank.add()

    assert refused.value.slug == "capture-key-missing"
    assert traces(bank) == []
    assert ends_of(bank.capture.kafka, bank.capture.topic(USERS)) == {}


@pytest.mark.parametrize(
    ("statement", "slug"),
    [
        ("create view users as select 1 as id, 'x' as v", "capture-table-missing"),
        ("create unlogged table users (id int primary key)", "capture-table-missing"),
        ("select 1", "capture-table-missing"),
        (
            "create table users (id int primary key); "
            "alter table users replica identity nothing",
            "capture-key-missing",
        ),
        (
            "create table users (id int primary key); "
            "alter table users enable row level security",
            "capture-rows-hidden",
        ),
    ],
)
def test_what_cannot_be_captured_is_refused_by_name(
    bank: Bank, statement: str, slug: str
) -> None:
    bank.run(statement)
    with pytest.raises(CaptureError) as refused:
        bank.add()

    assert refused.value.slug == slug
    assert traces(bank) == []


def test_names_that_are_somebody_elses_are_refused(bank: Bank) -> None:
    bank.make()
    slot = bank.capture.slot
    bank.run("select pg_create_logical_replication_slot(%s, 'pgoutput')", slot)
    with pytest.raises(CaptureError, match="capture-name-taken"):
        bank.add()
    bank.drop_slot()
    bank.run(f"create role {slot}")
    try:
        with pytest.raises(CaptureError, match="capture-name-taken"):
            bank.add()
    finally:
        bank.run(f"drop role {slot}")


def test_a_publication_that_exists_is_used_and_left_alone(bank: Bank) -> None:
    bank.make()
    bank.run("create publication theirs for table users")
    bank.add(publication="theirs")
    bank.run("insert into users values (4, 'new')")
    bank.await_equal()
    captures.remove(bank.capture)

    assert bank.run("select pubname from pg_publication") == [("theirs",)]
    assert traces(bank) == []


def test_a_removed_capture_leaves_nothing_behind(bank: Bank) -> None:
    bank.make()
    bank.add()
    kafka, capture = bank.capture.kafka, bank.capture
    before = traces(bank)
    captures.remove(capture, topics=True)

    assert before == ["slot", "publication", "role", "connector"]
    assert traces(bank) == []

    def is_gone(topic: str) -> bool:
        return ends_of(kafka, topic) == {}

    for topic in (capture.topic(USERS), capture.notices):
        wait_until(f"{topic} is gone", partial(is_gone, topic))


def test_a_topic_of_an_earlier_capture_ends_like_the_table(bank: Bank) -> None:
    bank.make(rows=5)
    bank.add()
    captures.remove(bank.capture)
    bank.run("delete from users where id in (2, 4)")
    bank.run("update users set v = 'changed' where id = 3")
    told = bank.add()

    assert "2 row(s) deleted that are no longer there" in told
    bank.await_equal()
    assert (2, "d", None) in bank.changes()
    check(bank.capture)


def test_a_capture_without_a_snapshot_begins_with_the_next_change(bank: Bank) -> None:
    bank.make()
    bank.add(snapshot_mode="no_data")
    bank.run("insert into users values (4, 'new')")

    wait_until("the change is there", lambda: bank.changes() == [(4, "c", "new")])
    assert [t.snapshot for t in status_of(bank.capture).tables] == ["none"]
    check(bank.capture)


def test_keys_stay_in_their_partitions(bank: Bank) -> None:
    bank.make(rows=50)
    bank.add(partitions=3, compact=True)
    bank.run("update users set v = 'new'")
    bank.await_equal()

    ends = ends_of(bank.capture.kafka, bank.capture.topic(USERS))
    assert len(ends) == 3
    assert all(ends.values())
    captures.remove(bank.capture)
    with pytest.raises(CaptureError, match="capture-topic-refused"):
        bank.add(partitions=2)


def test_a_null_stays_null_though_its_column_has_a_default(bank: Bank) -> None:
    bank.run("create table users (id int primary key, v text default 'x')")
    bank.run("insert into users values (1, null)")
    bank.add()
    bank.run("insert into users values (2, null)")
    bank.await_equal()

    assert bank.logged() == {1: None, 2: None}


def test_a_described_table_is_a_class_of_events(bank: Bank, tmp_path: Path) -> None:
    bank.run("create type tone as enum ('low', 'very-high')")
    bank.run(
        "create table users (id bigint primary key, name text not null, tone tone, "
        "balance numeric(12, 2), at timestamptz, day date, tags text[], raw bytea, "
        'doc jsonb, spot point, "class" int)'
    )
    text = system_of(bank.capture).describe(bank.capture, USERS)
    file = tmp_path / "described.py"
    file.write_text(text)
    made = event_type(runpy.run_path(str(file), run_name="described")["User"])

    assert made.key == "id"
    assert made.record.sql == (
        "struct<id:bigint,name:string,tone:string,balance:decimal(12,2),"
        "at:timestamp,day:date,tags:array<string>,raw:binary,doc:string>"
    )
    assert made.record["name"].required
    assert not made.record["balance"].required
    assert "# spot: changes carry point in no form" in text
    assert "# class: no field can have this name" in text


def test_lag_is_measured_from_commit_to_log(bank: Bank) -> None:
    bank.make()
    bank.add()
    with pytest.raises(CaptureError, match="capture-topic-empty"):
        lag_of(bank.capture, USERS)
    for number in range(20):
        bank.run("insert into users values (%s, 'new')", number + 10)
    bank.await_equal()
    capture, log, whole = lag_of(bank.capture, USERS)

    assert [hop.changes for hop in (capture, log, whole)] == [20, 20, 20]
    assert 0 < whole.p50 <= whole.p95 <= whole.p99 <= whole.most < 120_000
    assert whole.p50 >= capture.p50


@pytest.mark.parametrize(
    "setting",
    ["snapshot.mode", "value.converter.schemas.enable", "transforms.x.type"],
)
def test_settings_that_decoding_relies_on_are_refused(setting: str) -> None:
    with pytest.raises(CaptureError, match="capture-setting-refused") as refused:
        Wish((USERS,), settings={setting: "x"})

    assert setting in refused.value.fact


def test_the_command_captures_shows_and_removes(bank: Bank) -> None:
    bank.make()
    where = ("--dir", bank.stack.run_directory.path)
    added = headrace("cdc", "add", bank.name, "--tables", USERS, *where)
    shown = headrace("cdc", "status", bank.name, "--format", "json", *where)
    (status,) = json.loads(shown.stdout)
    described = headrace("cdc", "describe", bank.name, USERS, *where)
    asked = headrace("cdc", "remove", bank.name, *where)
    removed = headrace("cdc", "remove", bank.name, "--yes", *where)

    assert added.returncode == 0, added.stderr
    assert "public.users done (3 rows)" in added.stderr
    assert shown.returncode == 0, shown.stderr
    assert (status["connector"], status["problems"]) == ("running", [])
    assert status["tables"][0]["rows"] == 3
    assert status["standing"]["held_bytes"] < 2**20
    assert "class User:" in described.stdout
    assert "not-confirmed" in asked.stderr
    assert removed.returncode == 0, removed.stderr
    assert traces(bank) == []


def test_servers_that_are_there_already_are_captured_by_their_addresses(
    bank: Bank, tmp_path: Path
) -> None:
    bank.make()
    login = bank.login(f"{bank.name}_reader")
    bank.run(f"create role {login.user} login replication password '{login.password}'")
    bank.run(f"grant select on {USERS} to {login.user}")
    addresses = {
        "HEADRACE_BOOTSTRAP": bank.stack.address("kafka"),
        "HEADRACE_CONNECT": bank.capture.connect,
        "HEADRACE_DATABASES": json.dumps({bank.name: bank.capture.url}),
        # Nothing was ever started there.
        "HEADRACE_STATE_DIR": str(tmp_path / "none"),
    }
    add = ("cdc", "add", bank.name, "--tables", USERS)
    role = ("--role", login.user, "--password-reference", login.reference)

    refused = headrace(*add, **addresses)
    added = headrace(*add, *role, **addresses)

    assert "capture-login-missing" in refused.stderr
    assert added.returncode == 0, added.stderr
    bank.run("insert into users values (4, 'new')")
    bank.await_equal()
    assert bank.slugs() == []
    assert not (tmp_path / "none").exists()


def test_decimals_are_exact(bank: Bank) -> None:
    bank.run("create table users (id int primary key, v numeric)")
    bank.run("insert into users values (1, 12345678901234567890.123456789)")
    bank.add()
    wait_until("the row is there", lambda: bank.logged() != {})

    logged = bank.logged()[1]
    assert logged is not None
    assert Decimal(logged) == Decimal("12345678901234567890.123456789")
