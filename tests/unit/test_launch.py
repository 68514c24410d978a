"""Becoming a server: a note first, then another session, then the program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from headrace.services import launch
from headrace.services.launch import _birth_by_ps, birth
from support.harness.waiting import wait_until

SLEEP = shutil.which("sleep") or "/bin/sleep"


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that does nothing for a while."""
    with subprocess.Popen([SLEEP, "60"]) as process:
        yield process
        process.kill()


Birth = Callable[[int], str | None]
both_ways = pytest.mark.parametrize("birth", [birth, _birth_by_ps])


@both_ways
def test_a_process_has_one_birth_in_every_time_zone(
    birth: Birth, child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = birth(child.pid)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")

    assert first is not None
    assert birth(child.pid) == first


def test_two_processes_have_two_births(child: subprocess.Popen[bytes]) -> None:
    assert birth(child.pid) != birth(os.getpid())


@both_ways
def test_a_dead_process_has_no_birth(
    birth: Birth, child: subprocess.Popen[bytes]
) -> None:
    child.kill()
    child.wait()

    assert birth(child.pid) is None


@both_ways
def test_a_dead_process_that_nobody_buried_has_no_birth(
    birth: Birth, child: subprocess.Popen[bytes]
) -> None:
    child.kill()
    zombie = psutil.Process(child.pid)
    wait_until("a zombie", lambda: zombie.status() == psutil.STATUS_ZOMBIE)

    assert birth(child.pid) is None


@pytest.mark.parametrize("name", ["a) Z (b", ") Z 1 2 3", "two words"])
def test_a_strange_program_name_does_not_hide_a_birth(
    name: str, tmp_path: Path
) -> None:
    program = tmp_path / name
    shutil.copy(SLEEP, program)
    with subprocess.Popen([program, "60"]) as process:
        running = psutil.Process(process.pid)
        wait_until("the program runs", lambda: running.name() == name)
        born = birth(process.pid)
        process.kill()

    assert born is not None
    assert born.count("/") <= 1


def order(directory: Path, *command: str) -> dict[str, Any]:
    return {
        "command": list(command),
        "environment": {"GREETING": "hello"},
        "directory": str(directory),
        "log": str(directory / "it.log"),
        "note": str(directory / "process.json"),
        "uid": None,
        "gid": None,
        "lock": None,
    }


def run_launcher(
    order: dict[str, Any], *before: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*before, sys.executable, "-I", "-S", launch.__file__],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[psutil.Process]:
    """Give a process that the launcher left behind."""
    assert run_launcher(order(tmp_path, SLEEP, "60")).returncode == 0
    note = json.loads((tmp_path / "process.json").read_text())
    process = psutil.Process(note["pid"])
    yield process
    process.kill()


def test_the_note_names_the_server_by_number_and_birth(
    server: psutil.Process, tmp_path: Path
) -> None:
    note = json.loads((tmp_path / "process.json").read_text())

    assert server.cmdline() == [SLEEP, "60"]
    assert note == {"pid": server.pid, "birth": birth(server.pid)}
    assert [p.name for p in tmp_path.glob("*.draft")] == []


def test_a_server_leads_a_session_of_its_own(server: psutil.Process) -> None:
    assert os.getsid(server.pid) == server.pid
    assert server.ppid() != os.getpid()
    assert server.terminal() is None


def test_a_server_has_no_file_open_but_its_log(
    server: psutil.Process, tmp_path: Path
) -> None:
    listed = Path(f"/proc/{server.pid}/fd")
    if not listed.is_dir():
        pytest.skip("this system does not list a process's open files")
    handles = {int(handle.name): handle.readlink() for handle in listed.iterdir()}

    log = tmp_path / "it.log"
    assert handles == {0: Path(os.devnull), 1: log, 2: log}


def test_a_server_is_given_its_environment_and_no_other(tmp_path: Path) -> None:
    program = shutil.which("env")
    assert program is not None

    run_launcher(order(tmp_path, program))

    log = tmp_path / "it.log"
    wait_until("its output", lambda: log.read_text().endswith("\n"))
    assert log.read_text() == "GREETING=hello\n"


def test_a_server_may_open_many_files(tmp_path: Path) -> None:
    lowered = ["/bin/sh", "-c", 'ulimit -Sn 256; exec "$@"', "sh"]
    ask = order(tmp_path, "/bin/sh", "-c", "ulimit -Sn; ulimit -Hn")

    run_launcher(ask, *lowered)

    log = tmp_path / "it.log"
    wait_until("its output", lambda: log.read_text().count("\n") == 2)
    soft, hard = log.read_text().split()
    assert int(soft) == min(10240, int(hard) if hard.isdigit() else 10240)


def test_files_of_a_server_are_closed_to_others(tmp_path: Path) -> None:
    program = shutil.which("touch")
    assert program is not None

    run_launcher(order(tmp_path, program, "made"))

    wait_until("the file", (tmp_path / "made").exists)
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "it.log").stat().st_mode & 0o777 == 0o600


def test_a_program_that_cannot_be_run_is_said_so(tmp_path: Path) -> None:
    launched = run_launcher(order(tmp_path, str(tmp_path / "absent")))

    assert launched.returncode == 1
    assert "No such file" in launched.stderr


def test_a_directory_that_is_gone_is_said_so(tmp_path: Path) -> None:
    launched = run_launcher(
        order(tmp_path, SLEEP, "60") | {"directory": str(tmp_path / "absent")}
    )

    assert launched.returncode == 1
    assert "No such file" in launched.stderr
