"""MariaDB as a service: its account, its log, its death and its return."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import psutil
import pymysql
import pytest

from headrace.services import Stack
from headrace.services.launch import birth
from support.harness.observe import headrace, processes_in, status_of
from support.harness.shops import open_mariadb
from support.harness.stacks import servers
from support.harness.waiting import wait_until


@pytest.fixture(scope="module")
def maria() -> Iterator[Stack]:
    with servers() as stack:
        stack.up(["mariadb"])
        yield stack


def ask(stack: Stack, sql: str) -> tuple[tuple[object, ...], ...]:
    with open_mariadb(stack) as server, server.cursor() as cursor:
        cursor.execute(sql)
        rows: tuple[tuple[object, ...], ...] = cursor.fetchall()
        return rows


def test_the_command_shows_the_server_healthy_on_loopback(maria: Stack) -> None:
    found = status_of(maria.run_directory.path)["mariadb"]
    listening = {
        connection.laddr
        for connection in psutil.Process(found["pid"]).net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }

    assert found["health"] == "healthy"
    assert listening == {("127.0.0.1", found["port"])}
    assert found["address"].startswith("mariadb://headrace@127.0.0.1:")


def test_the_server_does_not_run_as_root(maria: Stack) -> None:
    (process,) = processes_in(maria.run_directory.path)

    assert process.uids().effective != 0


def test_the_log_holds_whole_rows_and_numbers_transactions(maria: Stack) -> None:
    names = "@@log_bin, @@binlog_format, @@binlog_row_image, @@server_id, @@sync_binlog"
    with open_mariadb(maria) as server, server.cursor() as cursor:
        cursor.execute("create database numbered")
        cursor.execute("select @@gtid_binlog_pos")
        ((before,),) = cursor.fetchall()
        cursor.execute("create table numbered.t (id int primary key)")
        cursor.execute("select @@gtid_binlog_pos")
        ((after,),) = cursor.fetchall()

    assert ask(maria, f"select {names}") == ((1, "ROW", "FULL", 1, 1),)
    assert after != before
    assert after.startswith("0-1-")


def test_the_password_is_in_two_closed_files_alone(maria: Stack) -> None:
    path = maria.run_directory.path
    password = (path / "mariadb" / "password").read_bytes()
    files = [file for file in path.rglob("*") if file.is_file()]
    holding = [file for file in files if password in file.read_bytes()]

    assert len(password) >= 32
    assert {file.name for file in holding} == {"password", "client.cnf"}
    assert [file for file in files if file.stat().st_mode & 0o077] == []
    for process in processes_in(path):
        assert password.decode() not in " ".join(process.cmdline())


@pytest.mark.parametrize("user", ["root", "mariadb.sys", ""])
def test_nobody_else_is_let_in(maria: Stack, user: str) -> None:
    port = maria.site().port("mariadb")

    with pytest.raises(pymysql.OperationalError, match="Access denied"):
        pymysql.connect(host="127.0.0.1", port=port, user=user, password="")


def test_a_killed_server_comes_back_with_its_rows(maria: Stack) -> None:
    path = maria.run_directory.path
    with open_mariadb(maria) as server, server.cursor() as cursor:
        cursor.execute("create database kept")
        cursor.execute("create table kept.t (id int primary key, v varchar(40))")
        cursor.execute("insert into kept.t values (1, 'Zoë 😀')")
        logs = ask(maria, "show binary logs")
        pid = status_of(path)["mariadb"]["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_until("its end", lambda: birth(pid) is None)
    seen = status_of(path)["mariadb"]["health"]

    done = headrace("up", "mariadb", "--dir", path)

    assert seen == "dead"
    assert done.returncode == 0, done.stderr
    assert ask(maria, "select * from kept.t") == ((1, "Zoë 😀"),)
    assert len(ask(maria, "show binary logs")) == len(logs) + 1


def test_a_stopped_server_is_gone_and_comes_back_with_its_rows(maria: Stack) -> None:
    ask(maria, "create database stopped")

    stopped = headrace("down", "--dir", maria.run_directory.path)
    left = processes_in(maria.run_directory.path)
    maria.up(["mariadb"])

    assert stopped.returncode == 0
    assert "stopped" in stopped.stderr
    assert left == []
    assert ("stopped",) in ask(maria, "show databases")
