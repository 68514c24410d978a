"""A password is read from its file where a connection is made, and is nowhere else."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from pyspark.sql import SparkSession

from headrace import DeliveryError
from support.harness.copies import Copies
from support.harness.direct import Direct
from support.harness.rig import ending, stopped_jvm
from support.harness.tables import Accounts, row
from support.harness.waiting import wait_until


@pytest.fixture
def accounts(postgres: str) -> Iterator[Accounts]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield Accounts.new(postgres, connection)


@dataclass(frozen=True)
class Canary:
    """An account with a database of its own, whose password would be known again."""

    address: str
    file: Path
    password: str


@pytest.fixture
def canary(accounts: Accounts, tmp_path: Path) -> Canary:
    name, password = accounts.name, f"canary-{secrets.token_hex(8)}"
    for statement in (
        f"create role {name} login password '{password}'",
        f"create database {name} owner {name}",
    ):
        accounts.connection.execute(statement)
    file = tmp_path / "pass:file"
    file.write_text(f"# servers\nother:1:*:*:wrong\n*:*:{name}:{name}:{password}\n")
    file.chmod(0o600)
    server = urlsplit(accounts.address).netloc.rpartition("@")[2]
    address = f"postgresql://{name}@{server}/{name}?passfile={file}"
    return Canary(address, file, password)


def test_the_password_is_in_no_log_checkpoint_or_process_list(
    bootstrap: str, canary: Canary, tmp_path: Path
) -> None:
    copies = Copies(bootstrap, canary.address, tmp_path / "checkpoint")
    copies.feed(20)
    driver = copies.start("postgres.record-sent:1:stop", log_level="all")
    jvm = wait_until("the JVM is stopped", lambda: stopped_jvm(driver), seconds=120)
    processes = [
        command.read_bytes().decode(errors="replace")
        for command in Path("/proc").glob("[0-9]*/cmdline")
    ]
    jvm.resume()
    end = ending(driver, 300)

    assert end.status == 0, end.log[-3000:]
    copies.require_right()
    kept = [path for path in copies.checkpoint.rglob("*") if path.is_file()]
    files = [path.read_text(errors="replace") for path in kept]
    assert len(end.log) > 100_000, "the JVM told all it could"
    assert not [t for t in (end.log, *processes, *files) if canary.password in t]


def test_a_password_file_that_others_can_read_is_not_used(
    spark: SparkSession, accounts: Accounts, canary: Canary, tmp_path: Path
) -> None:
    canary.file.chmod(0o644)
    sink = accounts.sink(address=canary.address)

    with pytest.raises(DeliveryError) as caught:
        Direct(spark, tmp_path / "checkpoint", sink).run({0: [row("a", 1)]})

    assert caught.value.slug == "password-file-unusable"


def test_a_wrong_password_is_not_tried_again(
    spark: SparkSession, accounts: Accounts, canary: Canary, tmp_path: Path
) -> None:
    canary.file.write_text("*:*:*:*:not-it\n")
    sink = accounts.sink(address=canary.address)

    with pytest.raises(DeliveryError) as caught:
        Direct(spark, tmp_path / "checkpoint", sink).run({0: [row("a", 1)]})

    assert caught.value.slug == "sink-forbidden"
    assert "not-it" not in str(caught.value)


def test_a_server_that_is_not_there_is_named_at_the_start(
    spark: SparkSession, accounts: Accounts, tmp_path: Path
) -> None:
    sink = accounts.sink(address="postgresql://nobody@127.0.0.1:1/none")

    with pytest.raises(DeliveryError) as caught:
        Direct(spark, tmp_path / "checkpoint", sink).run({})

    assert caught.value.slug == "sink-unreachable"
    assert 'database "none" at 127.0.0.1:1' in caught.value.fact
