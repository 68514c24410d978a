"""Captures of MariaDB and MySQL, as far as they need no server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headrace import CaptureError, cdc
from headrace.cdc.connector import binlog_settings, postgres_settings
from headrace.cdc.my_catalogue import LogFacts, MyColumn
from headrace.cdc.my_describing import column_hint
from headrace.cdc.my_preparing import why_unsupported
from headrace.cdc.my_session import server_of
from headrace.cdc.my_system import MySystem
from headrace.cdc.my_watching import why_lost
from headrace.cdc.notes import Notes
from headrace.cdc.outbox_capture import add_outbox
from headrace.cdc.pg_system import PgSystem
from headrace.cdc.place import Capture
from headrace.cdc.systems import system_of
from headrace.cdc.vanished import _deletion
from headrace.cdc.wishes import Login, Wish
from headrace.errors import ServiceError
from headrace.services import Stack
from headrace.services.addresses import Addresses
from headrace.settings import load_settings

KAFKA = {"bootstrap.servers": "127.0.0.1:9092"}
ERP = Capture("erp", "mariadb://ann@db/", "http://127.0.0.1:8083", KAFKA)
WISH = Wish(("shop.orders",))
LOGIN = Login("headrace_erp", "${directory:/run:password}", "secret")
WHOLE = LogFacts("11.4.5-MariaDB-log", True, "ROW", "FULL")


@pytest.mark.parametrize(
    ("scheme", "system"),
    [("mariadb", MySystem), ("mysql", MySystem), ("postgresql", PgSystem)],
)
def test_the_address_decides_the_kind_of_database(scheme: str, system: type) -> None:
    capture = replace(ERP, url=f"{scheme}://ann@db/")

    assert isinstance(system_of(capture), system)


@pytest.mark.parametrize("name", ["mariadb", "mysql"])
def test_a_captured_table_is_a_source(name: str) -> None:
    source = getattr(cdc, name)("erp", "shop.orders")

    assert (source.system, source.topic) == ("mysql", "erp.shop.orders")
    assert source.where.startswith(f"{Path(__file__).name}:")


def test_an_address_names_host_and_port() -> None:
    assert server_of("mariadb://ann@db.example.org:3307/shop") == (
        "db.example.org",
        3307,
    )
    assert server_of("mysql://db/")[1] == 3306


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (WHOLE, None),
        (replace(WHOLE, version="8.4.3"), None),
        (replace(WHOLE, version="10.4.1-MariaDB"), "version 10.4.1"),
        (replace(WHOLE, version="5.7.44"), "version 5.7.44"),
        (replace(WHOLE, log_bin=False), "no binary log"),
        (replace(WHOLE, form="STATEMENT"), "binlog_format = statement"),
        (replace(WHOLE, row_image="NOBLOB"), "binlog_row_image = noblob"),
        (replace(WHOLE, shortened="log_bin_compress = on"), "log_bin_compress = on"),
        (replace(WHOLE, left_out=frozenset({"shop"})), "leaves out shop.orders"),
        (replace(WHOLE, left_out=frozenset({"other"})), None),
        (replace(WHOLE, kept_alone=frozenset({"other"})), "leaves out shop.orders"),
        (replace(WHOLE, kept_alone=frozenset({"shop"})), None),
    ],
)
def test_a_log_that_lacks_something_is_known(facts: LogFacts, said: str | None) -> None:
    reason = why_unsupported(facts, ["shop.orders"])

    assert (reason is None) if said is None else (said in (reason or ""))


LOGS = {"bin.000008": 500, "bin.000009": 900, "bin.1000000": 300}


@pytest.mark.parametrize(
    ("noted", "file", "place", "said"),
    [
        ("bin.000008", "bin.000009", 900, None),
        ("bin.000003", None, 0, None),
        (None, "bin.000008", 4, None),
        ("bin.000003", "bin.000007", 4, "bin.000007 was purged"),
        ("bin.000003", "bin.000009", 901, "ends before the place 901"),
        ("bin.2000000", "bin.000009", 4, "begun anew"),
        ("bin.1000000", "bin.1000000", 300, None),
    ],
)
def test_a_place_that_the_log_no_longer_has_is_known(
    noted: str | None, file: str | None, place: int, said: str | None
) -> None:
    reason = why_lost(LOGS, noted, file, place)

    assert (reason is None) if said is None else (said in (reason or ""))


def test_a_server_that_stopped_logging_has_no_place() -> None:
    assert "begun anew" in (why_lost({}, "bin.000003", "bin.000004", 4) or "")


@pytest.mark.parametrize(
    ("shown", "kind", "hint"),
    [
        ("bigint(20) unsigned", "bigint", "Annotated[Decimal, digits(20, 0)]"),
        ("int(10) unsigned", "int", "int"),
        ("tinyint(1)", "tinyint", "int"),
        ("bit(1)", "bit", "bool"),
        ("bit(8)", "bit", "bytes"),
        ("datetime(6)", "datetime", "datetime"),
        ("point", "point", None),
    ],
)
def test_a_column_is_declared_as_changes_carry_it(
    shown: str, kind: str, hint: str | None
) -> None:
    assert column_hint(MyColumn("c", shown, kind, True, None, None)).hint == hint


def test_more_digits_than_an_engine_holds_have_no_hint() -> None:
    column = MyColumn("c", "decimal(65,30)", "decimal", True, 65, 30)

    assert column_hint(column).hint is None


def test_the_labels_of_an_enum_are_read() -> None:
    column = MyColumn("c", "enum('new','it''s, done')", "enum", True, None, None)

    assert column_hint(column).labels == ("new", "it's, done")


def settings(capture: Capture = ERP, *, is_mariadb: bool = True) -> dict[str, str]:
    notes = Notes(WISH.tables)
    return binlog_settings(capture, WISH, notes, LOGIN, ("db", 3306), is_mariadb)


def test_both_kinds_of_connector_make_the_same_promises() -> None:
    promises = (
        "exactly.once.support",
        "transaction.boundary",
        "decimal.handling.mode",
        "time.precision.mode",
        "binary.handling.mode",
        "provide.transaction.metadata",
        "skipped.operations",
        "tombstones.on.delete",
        "tasks.max",
        "heartbeat.interval.ms",
    )
    ours, theirs = settings(), postgres_settings(ERP, WISH, Notes(WISH.tables), LOGIN)

    assert [ours[p] for p in promises] == [theirs[p] for p in promises]
    assert ours["exactly.once.support"] == "required"
    assert ours["schema.history.internal.kafka.topic"] == "headrace.cdc.erp.shapes"


def test_a_capture_may_say_how_often_it_looks_for_changes() -> None:
    rare = Wish(WISH.tables, settings={"poll.interval.ms": "2000"})
    theirs = postgres_settings(ERP, rare, Notes(rare.tables), LOGIN)

    assert settings()["poll.interval.ms"] == "100"
    assert theirs["poll.interval.ms"] == "2000"


def test_a_connectors_settings_hold_no_password() -> None:
    assert "secret" not in str(settings())


def test_the_server_decides_the_connector() -> None:
    assert settings()["connector.class"].endswith("MariaDbConnector")
    assert settings(is_mariadb=False)["connector.class"].endswith("MySqlConnector")


def test_each_capture_is_a_reader_of_its_own() -> None:
    other = replace(ERP, database="crm")
    numbers = {settings(c)["database.server.id"] for c in (ERP, other)}

    assert len(numbers) == 2
    assert all(0 < int(number) < 2**32 for number in numbers)


@pytest.mark.parametrize(
    "setting", ["snapshot.locking.mode", "database.server.id", "schema.history.x"]
)
def test_what_completeness_relies_on_is_not_to_be_changed(setting: str) -> None:
    with pytest.raises(CaptureError, match="capture-setting-refused"):
        Wish(("shop.orders",), settings={setting: "none"})


def test_a_vanished_row_is_deleted_at_the_place_of_the_log() -> None:
    origin = MySystem().origin({"file": "bin.000004", "pos": 77, "gtids": "0-1-9"})
    source = {"file": "bin.000001", "pos": 4, "row": 3, "gtid": "0-1-2", "db": "shop"}

    deletion = _deletion({"source": source, "after": {"id": 1}}, origin)

    assert deletion["before"] == {"id": 1}
    told = {name: deletion["source"][name] for name in source}
    assert told == {**origin, "db": "shop"}
    assert (told["file"], told["pos"], told["gtid"]) == ("bin.000004", 77, None)


def test_notes_keep_who_made_the_role() -> None:
    notes = Notes(("shop.orders",), made_role="headrace_erp")

    assert Notes.read({"headrace.capture": notes.text}) == notes


def test_an_outbox_is_refused() -> None:
    with pytest.raises(CaptureError, match="database-unsupported"):
        add_outbox(ERP, WISH, LOGIN)


def test_an_address_without_a_host_is_our_own_server(tmp_path: Path) -> None:
    named = {"erp": "mariadb:///", "crm": "mariadb://ann@db/"}
    settings = load_settings(databases=named)
    addresses = Addresses(settings, Stack(tmp_path / "none", settings))

    assert addresses.database("crm") == "mariadb://ann@db/"
    with pytest.raises(ServiceError, match="nothing-started"):
        addresses.database("erp")
