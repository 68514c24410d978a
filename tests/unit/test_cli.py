"""The command line: exit codes, and data apart from talk."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.errors import ServiceError
from headrace.services import ProcessStatus, Stack

Out = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def user(open_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a user with an empty home and no project."""
    monkeypatch.chdir(open_tmp)
    monkeypatch.setenv("HEADRACE_STATE_DIR", str(open_tmp / "state"))
    # Set and taken away, so that what `--debug` sets is gone after the test.
    monkeypatch.setenv("HEADRACE_DEBUG", "")
    monkeypatch.delenv("HEADRACE_DEBUG")


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command in this process; give its exit code."""
    monkeypatch.setattr("sys.argv", ["headrace", *arguments])
    with pytest.raises(SystemExit) as exited:
        main()
    return int(exited.value.code or 0)


def status(health: str) -> ProcessStatus:
    pid = 7 if health in {"healthy", "unhealthy"} else None
    problem = "it is silent" if health == "unhealthy" else None
    return ProcessStatus(
        "redis", "redis", health, pid, 20001, "redis://127.0.0.1:20001", 2**20, problem
    )


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[ProcessStatus]:
    """Give the list that `status` finds; a test fills it."""
    processes: list[ProcessStatus] = []
    monkeypatch.setattr(Stack, "status", lambda _self: processes)
    return processes


def test_the_version_is_data(monkeypatch: pytest.MonkeyPatch, capsys: Out) -> None:
    assert run(monkeypatch, "--version") == 0

    out, err = capsys.readouterr()
    assert out == f"headrace {version('headrace')}\n"
    assert err == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("upp",),
        ("up", "--brokers", "many"),
        ("status", "--format", "xml"),
        ("down", "redis"),
        ("logs",),
    ],
)
def test_wrong_use_exits_with_2(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    assert run(monkeypatch, *arguments) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert "Usage: headrace" in err


def test_an_error_exits_with_1_and_is_talk(
    monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    assert run(monkeypatch, "up", "zookeeper") == 1

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("ServiceError [service-unknown]: there is no service")
    assert "Traceback" not in err


def test_an_errors_trace_is_shown_on_demand(
    monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    assert run(monkeypatch, "--debug", "up", "zookeeper") == 1

    assert "Traceback" in capsys.readouterr().err


def test_a_bracketed_word_in_an_error_is_shown_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    def fail(*_args: object, **_kwargs: object) -> None:
        raise ServiceError("port-taken", "a [red]fact[/red]", hint="[ports] is a table")

    monkeypatch.setattr(Stack, "up", fail)
    run(monkeypatch, "up")

    assert "a [red]fact[/red]" in capsys.readouterr().err


def test_an_interrupt_exits_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    def interrupt(*_args: object, **_kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Stack, "up", interrupt)

    assert run(monkeypatch, "up") == 130
    assert capsys.readouterr().out == ""


def test_nothing_started_is_an_empty_list_for_programs(
    monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    assert run(monkeypatch, "status", "--format", "json") == 0

    assert json.loads(capsys.readouterr().out) == []


def test_nothing_started_is_said_to_people_as_talk(
    monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    assert run(monkeypatch, "status") == 0

    out, err = capsys.readouterr()
    assert out == ""
    assert "no servers were started" in err


def test_stopping_nothing_is_no_error_and_makes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: Out, open_tmp: Path
) -> None:
    assert run(monkeypatch, "down") == 0

    out, err = capsys.readouterr()
    assert out == ""
    assert "nothing was running" in err
    assert list(open_tmp.iterdir()) == []


@pytest.mark.parametrize(
    ("health", "code"),
    [("healthy", 0), ("stopped", 0), ("unhealthy", 1), ("dead", 1)],
)
def test_status_exits_with_1_if_a_process_is_not_well(
    health: str,
    code: int,
    found: list[ProcessStatus],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Out,
) -> None:
    found += [status("healthy"), status(health)]

    assert run(monkeypatch, "status", "--format", "json") == code
    assert json.loads(capsys.readouterr().out)[1]["health"] == health


def test_a_table_shows_each_process_with_its_problem(
    found: list[ProcessStatus], monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    found += [status("healthy"), status("unhealthy"), status("dead")]
    run(monkeypatch, "status")

    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["process", "health", "pid", "port", "memory", "address"]
    assert rows[0].split()[-1] == "redis://127.0.0.1:20001"
    assert rows[1].endswith("it is silent")
    assert rows[2].split()[:4] == ["redis", "dead", "-", "20001"]


def log(open_tmp: Path, process: str, text: str) -> None:
    directory = open_tmp / "state" / "default" / process
    directory.mkdir(parents=True)
    (directory / f"{process}.log").write_text(text)


def test_the_last_lines_of_a_log_are_data(
    monkeypatch: pytest.MonkeyPatch, capsys: Out, open_tmp: Path
) -> None:
    log(open_tmp, "redis", "one\ntwo\nthree\n")

    assert run(monkeypatch, "logs", "redis", "-n", "2") == 0
    assert capsys.readouterr().out == "two\nthree\n"


def test_kafkas_log_is_its_first_brokers(
    monkeypatch: pytest.MonkeyPatch, capsys: Out, open_tmp: Path
) -> None:
    log(open_tmp, "kafka-1", "ready\n")

    assert run(monkeypatch, "logs", "kafka") == 0
    assert capsys.readouterr().out == "ready\n"


@pytest.mark.parametrize("name", ["redis", "zookeeper", "../default/redis"])
def test_a_log_that_is_not_there_is_an_error(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    assert run(monkeypatch, "logs", name) == 1

    assert "[log-missing]" in capsys.readouterr().err


def test_colour_is_left_out_when_the_user_asks_for_none(
    monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    run(monkeypatch, "up", "zookeeper")

    assert "\x1b[31m" not in capsys.readouterr().err
    assert os.environ["NO_COLOR"]
