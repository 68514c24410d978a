"""A server process: known again by its note, and stopped only if it is ours."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from headrace.errors import ServiceError
from headrace.services.launch import birth
from headrace.services.process import Command, ServerProcess
from headrace.services.rundir import RunDirectory
from headrace.settings import load_settings
from support.harness.waiting import wait_until

SLEEP = shutil.which("sleep") or "/bin/sleep"
STUBBORN = ["/bin/sh", "-c", f"trap '' TERM; {SLEEP} 60; {SLEEP} 60"]


@pytest.fixture
def run_directory(open_tmp: Path) -> RunDirectory:
    directory = RunDirectory(load_settings(), open_tmp / "run")
    directory.create()
    return directory


@pytest.fixture
def process(run_directory: RunDirectory) -> Iterator[ServerProcess]:
    process = ServerProcess(run_directory, "it")
    run_directory.make(process.directory)
    yield process
    process.stop(signal.SIGKILL, 10)


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that has nothing to do with headrace."""
    with subprocess.Popen([SLEEP, "60"]) as child:
        yield child
        child.kill()


Write = Callable[[object], None]


@pytest.fixture
def write_note(process: ServerProcess) -> Write:
    def write(content: object) -> None:
        text = content if isinstance(content, str) else json.dumps(content)
        (process.directory / "process.json").write_text(text)

    return write


def test_a_process_that_was_never_started_does_not_run(process: ServerProcess) -> None:
    assert process.pid is None
    assert not process.was_started
    assert process.memory() == 0
    assert process.log_tail() == ""
    assert not process.listens_on(1)


def test_a_started_process_runs_until_it_is_stopped(process: ServerProcess) -> None:
    process.start(Command([SLEEP, "60"]))
    pid = process.pid

    assert pid is not None
    assert psutil.Process(pid).cwd() == str(process.directory)
    assert process.memory() > 0
    assert process.stop(signal.SIGTERM, 10) is False
    assert process.pid is None
    assert not process.was_started
    assert not psutil.pid_exists(pid) or birth(pid) is None


def test_a_process_that_ends_by_itself_was_started_but_does_not_run(
    process: ServerProcess,
) -> None:
    process.start(Command(["/bin/sh", "-c", "echo the end"]))
    wait_until("its end", lambda: process.pid is None)

    assert process.was_started
    assert process.log_tail() == "the end"


def test_under_root_a_server_gives_up_its_rights(process: ServerProcess) -> None:
    process.start(Command([SLEEP, "60"]))
    uids = set(psutil.Process(process.pid).uids())

    assert uids != {0}
    assert len(uids) == 1


def test_a_process_that_does_not_heed_the_signal_is_killed_with_its_children(
    process: ServerProcess,
) -> None:
    process.start(Command(STUBBORN))
    assert process.pid is not None
    shell = psutil.Process(process.pid)
    (child,) = wait_until("its child", shell.children)

    assert process.stop(signal.SIGTERM, 0.1) is True
    wait_until("the child is gone", lambda: birth(child.pid) is None)
    assert birth(shell.pid) is None


def test_a_process_is_killed_at_once_with_its_children(process: ServerProcess) -> None:
    process.start(Command(STUBBORN))
    assert process.pid is not None
    shell = psutil.Process(process.pid)
    (child,) = wait_until("its child", shell.children)

    process.kill()

    assert not process.was_started
    pids = (shell.pid, child.pid)
    wait_until("both are gone", lambda: not any(map(birth, pids)))


@pytest.mark.parametrize(
    "note",
    [
        "",
        "{",
        "[]",
        "null",
        "7",
        {"pid": 1},
        {"birth": "x"},
        {"pid": "x", "birth": "y"},
        {"pid": None, "birth": None},
    ],
)
def test_a_damaged_note_counts_as_not_running(
    note: object, process: ServerProcess, write_note: Write
) -> None:
    write_note(note)

    assert process.pid is None
    assert process.stop(signal.SIGTERM, 1) is False
    assert not process.was_started


def test_a_note_of_a_dead_process_counts_as_not_running(
    process: ServerProcess, write_note: Write, stranger: subprocess.Popen[bytes]
) -> None:
    write_note({"pid": stranger.pid, "birth": birth(stranger.pid)})
    assert process.pid == stranger.pid
    stranger.kill()
    stranger.wait()

    assert process.pid is None
    assert process.was_started


def test_a_stranger_with_the_number_of_the_note_is_never_signalled(
    process: ServerProcess, write_note: Write, stranger: subprocess.Popen[bytes]
) -> None:
    write_note({"pid": stranger.pid, "birth": "another-boot/123"})

    assert process.pid is None
    assert process.stop(signal.SIGKILL, 1) is False
    assert stranger.poll() is None
    assert not process.was_started


def test_our_own_servers_are_not_seen_through_a_birth_of_an_earlier_boot(
    process: ServerProcess, write_note: Write, stranger: subprocess.Popen[bytes]
) -> None:
    born = birth(stranger.pid)
    assert born is not None
    write_note({"pid": stranger.pid, "birth": "0" + born[1:] + "0"})

    assert process.pid is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can signal other accounts")
def test_a_note_that_names_another_accounts_process_signals_nobody(
    process: ServerProcess, write_note: Write, stranger: subprocess.Popen[bytes]
) -> None:
    write_note({"pid": stranger.pid, "birth": birth(stranger.pid)})
    shutil.chown(process.directory / "process.json", "nobody")

    process.stop(signal.SIGKILL, 1)

    assert stranger.poll() is None


def test_a_process_that_ends_while_it_is_stopped_is_stopped(
    process: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    process.start(Command([SLEEP, "60"]))
    kill = os.kill

    def kill_too_late(pid: int, number: int) -> None:
        kill(pid, signal.SIGKILL)
        wait_until("its end", lambda: birth(pid) is None)
        raise ProcessLookupError

    monkeypatch.setattr(os, "kill", kill_too_late)

    assert process.stop(signal.SIGTERM, 10) is False
    assert not process.was_started


def test_a_program_that_is_not_there_is_refused(process: ServerProcess) -> None:
    with pytest.raises(ServiceError) as refused:
        process.start(Command([process.directory / "absent"]))

    assert refused.value.slug == "service-not-startable"
    assert "No such file" in (refused.value.detail or "")


def test_the_users_environment_is_not_passed_on(
    process: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_OPTS", "-Dsurprise")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    program = shutil.which("env")
    assert program is not None

    process.start(Command([program], environment={"MORE": "1"}))
    wait_until("its end", lambda: process.pid is None)

    lines = set(process.log_tail().splitlines())
    assert {"TZ=Asia/Tokyo", "MORE=1", f"HOME={process.directory}"} <= lines
    assert not any(line.startswith("KAFKA_OPTS") for line in lines)


def test_a_long_log_is_put_aside_before_a_start(process: ServerProcess) -> None:
    with process.log.open("wb") as log:
        log.truncate(8 * 2**20 + 1)
    process.start(Command([SLEEP, "60"]))

    assert process.log.stat().st_size == 0
    assert process.log.with_suffix(".log.1").stat().st_size > 8 * 2**20


def test_a_short_log_goes_on_after_a_start(process: ServerProcess) -> None:
    for word in ("first", "second"):
        process.start(Command(["/bin/sh", "-c", f"echo {word}"]))
        wait_until("its end", lambda: process.pid is None)

    assert process.log_tail() == "first\nsecond"
