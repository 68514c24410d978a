"""Signals to a command: the first ends it in good order, the second kills it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

import psutil
import pytest

from support.harness.waiting import wait_until

CTRL_C, SIGTERM = signal.SIGINT, signal.SIGTERM

BEGIN = """
import signal, subprocess, sys, threading
from headrace.cli.ending import ENDING

def ready():
    print("ready", flush=True)

def child():
    return subprocess.Popen(
        [sys.executable, "-c", "import signal; signal.pause()"],
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
"""


class Program:
    """A program that owns its signals, in a session of its own."""

    def __init__(self, text: str, *before: str) -> None:
        self.process = subprocess.Popen(
            [*before, sys.executable, "-c", BEGIN + text],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout
        line = self.process.stdout.readline()
        if line != "ready\n":
            raise AssertionError(self.process.communicate()[1])
        self.children = psutil.Process(self.process.pid).children(recursive=True)

    def send(self, sign: signal.Signals) -> None:
        os.killpg(self.process.pid, sign)

    def signal_until_gone(self, sign: signal.Signals) -> None:
        """Send a signal again and again, as somebody does who is impatient."""

        def is_gone() -> bool:
            with suppress(ProcessLookupError):
                self.send(sign)
            return self.process.poll() is not None

        wait_until("it is gone", is_gone, step=0.5)

    def end(self) -> tuple[int, list[str]]:
        """Give its exit status, and what it has said."""
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said.splitlines()

    def require_no_children(self) -> None:
        def is_gone(child: psutil.Process) -> bool:
            with suppress(psutil.NoSuchProcess):
                return child.status() == psutil.STATUS_ZOMBIE
            return True

        assert self.children
        wait_until("no child is left", lambda: all(map(is_gone, self.children)))

    def close(self) -> None:
        for process in self.children:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@pytest.fixture
def start() -> Iterator[Callable[..., Program]]:
    started: list[Program] = []

    def begin(*arguments: str) -> Program:
        started.append(Program(*arguments))
        return started[-1]

    yield begin
    for program in started:
        with closing(program):
            pass


AT_ONCE = """
with ENDING.armed():
    child()
    ENDING.at_once("ended as it began")
    try:
        ready()
        threading.Event().wait()
    except KeyboardInterrupt:
        code = ENDING.status(130)
sys.exit(code)
"""

AFTER = """
with ENDING.armed():
    child()
    enough, never = threading.Event(), threading.Event()
    ENDING.after("ending", enough.set)
    ready()
    enough.wait()
    {then}
sys.exit(ENDING.status(0))
"""


@pytest.mark.parametrize(("sign", "status"), [(CTRL_C, 130), (SIGTERM, 0)])
def test_a_start_is_interrupted_and_what_it_began_ends(
    start: Callable[..., Program], sign: signal.Signals, status: int
) -> None:
    program = start(AT_ONCE)

    program.send(sign)

    assert program.end() == (status, ["ended as it began"])
    program.require_no_children()


@pytest.mark.parametrize(("sign", "status"), [(CTRL_C, 130), (SIGTERM, 0)])
def test_what_is_in_hand_is_finished(
    start: Callable[..., Program], sign: signal.Signals, status: int
) -> None:
    program = start(AFTER.format(then="print('finished', file=sys.stderr)"))

    program.send(sign)

    assert program.end() == (status, ["ending", "finished"])


@pytest.mark.parametrize(("sign", "status"), [(CTRL_C, 130), (SIGTERM, 143)])
def test_a_second_signal_kills_with_all_children(
    start: Callable[..., Program], sign: signal.Signals, status: int
) -> None:
    program = start(AFTER.format(then="never.wait()"))

    program.signal_until_gone(sign)

    code, said = program.end()
    assert (code, len(said), said[0]) == (status, 2, "ending")
    assert said[1] == "killed"
    program.require_no_children()


def test_a_second_signal_kills_what_is_amid_a_call_of_c(
    start: Callable[..., Program],
) -> None:
    # Whoever takes a lock of C twice waits for ever, and no signal wakes them.
    take = "ctypes.CDLL(None).pthread_mutex_lock(lock)"
    lock = "import ctypes; lock = ctypes.create_string_buffer(64)"
    program = start(AFTER.format(then=f"{lock}; {take}; {take}"))

    program.signal_until_gone(CTRL_C)

    assert program.end()[0] == 130


def test_what_must_be_killed_beside_children_is(start: Callable[..., Program]) -> None:
    also = "ENDING.at_kill('all', lambda: print('too', file=sys.stderr)); never.wait()"
    program = start(AFTER.format(then=also))

    program.signal_until_gone(SIGTERM)

    assert program.end()[1][-2:] == ["all", "too"]


def test_one_signal_that_comes_twice_is_one(start: Callable[..., Program]) -> None:
    program = start(AFTER.format(then="print('finished', file=sys.stderr)"))

    # As `timeout` does: to the process, and to its group.
    os.kill(program.process.pid, SIGTERM)
    program.send(SIGTERM)

    assert program.end() == (0, ["ending", "finished"])


def test_ctrl_c_is_not_for_what_runs_in_a_shells_background(
    start: Callable[..., Program],
) -> None:
    program = start(AT_ONCE, "sh", "-c", 'trap "" INT; exec "$@"', "sh")

    program.send(CTRL_C)
    program.send(SIGTERM)

    assert program.end() == (0, ["ended as it began"])


def test_who_does_not_let_go_is_killed_after_a_grace(
    start: Callable[..., Program],
) -> None:
    held = AT_ONCE.replace('as it began")', 'as it began", grace=0.5)')
    held = held.replace("code = ", "threading.Event().wait(); code = ")
    program = start(held)

    program.send(SIGTERM)

    assert program.end() == (0, ["ended as it began"])
    program.require_no_children()


def test_an_error_is_not_hidden_behind_a_signal(start: Callable[..., Program]) -> None:
    program = start(AFTER.format(then="pass").replace("status(0)", "status(1)"))

    program.send(CTRL_C)

    assert program.end() == (1, ["ending"])


def test_the_signals_are_pythons_again_afterwards() -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            BEGIN
            + "before = signal.getsignal(signal.SIGINT)\n"
            + "with ENDING.armed():\n"
            + "    assert signal.getsignal(signal.SIGINT) != before\n"
            + "assert signal.getsignal(signal.SIGINT) == before\n"
            + "assert signal.set_wakeup_fd(-1) == -1\n",
        ],
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
