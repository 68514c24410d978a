"""Commands over the log: which Kafka they mean, and what they refuse."""

from __future__ import annotations

import io
import json
import os
import signal
from pathlib import Path

import pytest
import typer

from headrace.cli import main
from headrace.cli.address import (
    Address,
    find_log,
    read_pairs,
    require_consent,
)
from headrace.cli.produce import Input
from headrace.errors import HeadraceError, LogError, ServiceError, SettingsError
from headrace.services.process import ServerProcess

Out = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(open_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a project of a user who has chosen nothing."""
    monkeypatch.chdir(open_tmp)
    monkeypatch.setenv("HOME", str(open_tmp))
    monkeypatch.setenv("HEADRACE_STATE_DIR", str(open_tmp / "state"))
    monkeypatch.delenv("HEADRACE_BOOTSTRAP", raising=False)
    monkeypatch.delenv("HEADRACE_DEBUG", raising=False)
    # Addresses are known without the Java that runs the servers.
    monkeypatch.setattr("headrace.services.stack.find_java", lambda _settings: None)
    return open_tmp


def started(directory: Path, *services: str, brokers: int = 1) -> Path:
    """Have a run directory remember services that were started there."""
    ports = {f"kafka-{n}": 20000 + n for n in range(1, brokers + 1)}
    run = {
        "run_id": "r",
        "cluster_id": "ours",
        "brokers": brokers,
        "ports": {**ports, "registry": 20009},
        "services": services,
    }
    directory.mkdir(parents=True)
    (directory / "run.json").write_text(json.dumps(run))
    return directory


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every server seem to run."""
    monkeypatch.setattr(ServerProcess, "pid", property(lambda _self: 7))


def refusal(bootstrap: str | None, directory: Path | None) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        find_log(bootstrap, directory)
    return caught.value


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["headrace", *arguments])
    with pytest.raises(SystemExit) as exited:
        main()
    return int(exited.value.code or 0)


def test_the_flag_beats_the_setting_and_the_setting_the_projects_own_kafka(
    project: Path, running: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    started(project / "state" / "default", "kafka")
    assert find_log(None, None) == Address("127.0.0.1:20001", "ours")

    monkeypatch.setenv("HEADRACE_BOOTSTRAP", "set:1,set:2")
    assert find_log(None, None) == Address("set:1,set:2")
    assert find_log("flag:1", None) == Address("flag:1")


def test_a_directory_that_is_named_beats_the_setting(
    project: Path, running: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = started(project / "mine", "kafka", brokers=3)
    monkeypatch.setenv("HEADRACE_BOOTSTRAP", "set:1")

    found = find_log(None, directory)

    assert found.bootstrap == "127.0.0.1:20001,127.0.0.1:20002,127.0.0.1:20003"
    assert found.cluster_id == "ours"


def test_a_flag_and_a_directory_exclude_each_other(project: Path) -> None:
    with pytest.raises(typer.BadParameter):
        find_log("flag:1", project)


def test_the_projects_own_registry_is_known_once_it_was_started(
    project: Path, running: None
) -> None:
    both = started(project / "both", "kafka", "registry")
    alone = started(project / "alone", "kafka")

    assert find_log(None, both).registry == "http://127.0.0.1:20009/apis/ccompat/v7"
    assert find_log(None, alone).registry is None


@pytest.mark.parametrize(
    "address", ["", "host", "host:", ":1", "host:port", "a:1,", "a:1 b:1", "http://a:1"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    error = refusal(address, None)

    assert isinstance(error, SettingsError)
    assert error.slug == "setting-rejected"
    assert '"bootstrap"' in error.fact


def test_where_nothing_was_started_the_command_that_starts_it_is_named() -> None:
    error = refusal(None, None)

    assert isinstance(error, ServiceError)
    assert error.slug == "nothing-started"
    assert "headrace up" in str(error.hint)


def test_other_servers_are_no_kafka(project: Path) -> None:
    error = refusal(None, started(project / "redis-alone", "redis"))

    assert error.slug == "nothing-started"
    assert "--bootstrap" in str(error.hint)


def test_a_kafka_that_does_not_run_is_an_error_at_once(project: Path) -> None:
    error = refusal(None, started(project / "stopped", "kafka"))

    assert isinstance(error, LogError)
    assert error.slug == "broker-unreachable"
    assert "headrace up kafka" in str(error.hint)


def test_pairs_are_read_in_order_and_may_repeat() -> None:
    assert read_pairs(["a=1", "a=", "b=x=y"], "--header") == [
        ("a", "1"),
        ("a", ""),
        ("b", "x=y"),
    ]


@pytest.mark.parametrize("text", ["a", "=1", ""])
def test_what_is_no_pair_is_wrong_use(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="name=value"):
        read_pairs([text], "--config")


def at_terminal(monkeypatch: pytest.MonkeyPatch, answer: str | None) -> None:
    stdin = io.StringIO(answer or "")
    monkeypatch.setattr(stdin, "isatty", lambda: answer is not None, raising=False)
    monkeypatch.setattr("sys.stdin", stdin)


def test_yes_needs_no_question(monkeypatch: pytest.MonkeyPatch, capsys: Out) -> None:
    at_terminal(monkeypatch, None)
    require_consent("Remove it?", yes=True)

    assert capsys.readouterr() == ("", "")


def test_at_a_terminal_the_question_is_talk(
    monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    at_terminal(monkeypatch, "y\n")
    require_consent("Remove it?", yes=False)

    out, err = capsys.readouterr()
    assert out == ""
    assert "Remove it?" in err


@pytest.mark.parametrize(("answer", "why"), [("n\n", "no"), (None, "nobody to ask")])
def test_without_a_yes_nothing_is_done(
    answer: str | None, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_terminal(monkeypatch, answer)

    with pytest.raises(LogError) as caught:
        require_consent("Remove it?", yes=False)

    assert caught.value.slug == "not-confirmed"
    assert why in str(caught.value.detail)


@pytest.mark.parametrize(
    "arguments",
    [
        ("topics", "create", "t"),
        ("topics", "create", "t", "--partitions", "0"),
        ("topics", "create", "t", "--partitions", "1", "--config", "retention"),
        ("produce",),
        ("produce", "t", "--key", "a", "--raw"),
        ("produce", "t", "--key", "a", "--key-separator", ":"),
        ("produce", "t", "--key-separator", ""),
        ("produce", "t", "--header", "novalue"),
        ("consume", "t", "--max", "0"),
        ("consume", "t", "--partition", "-1"),
        ("consume", "t", "--isolation", "dirty"),
        ("consume", "t", "--registry", "ftp://somewhere"),
        ("groups", "reset", "g", "--topic", "t"),
        ("groups", "reset", "g", "--to", "earliest"),
    ],
)
def test_wrong_use_exits_with_2(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    assert run(monkeypatch, *arguments) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert "Usage: headrace" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("topics", "list"),
        ("topics", "show", "t"),
        ("topics", "create", "t", "--partitions", "1"),
        ("topics", "delete", "t", "--yes"),
        ("produce", "t"),
        ("consume", "t"),
        ("groups", "list"),
        ("groups", "show", "g"),
        ("groups", "reset", "g", "--topic", "t", "--to", "latest", "--yes"),
    ],
)
def test_every_command_says_so_where_nothing_was_started(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    assert run(monkeypatch, *arguments) == 1

    out, err = capsys.readouterr()
    assert out == ""
    assert "[nothing-started]" in err


@pytest.mark.parametrize(
    "arguments",
    [("consume", "t", "--from"), ("groups", "reset", "g", "--topic", "t", "--to")],
)
def test_a_place_is_read_before_any_kafka_is_asked(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    assert run(monkeypatch, *arguments, "yesterday") == 1

    assert "[place-unreadable]" in capsys.readouterr().err


def test_an_input_ends_with_its_stream() -> None:
    lines = Input(io.BytesIO(b"a\nb"), 10)

    assert list(lines) == [b"a\n", b"b"]
    assert not lines.interrupted


def test_an_interrupt_while_a_line_is_awaited_ends_the_input() -> None:
    class Awaited(io.BytesIO):
        def readline(self, _limit: int | None = -1, /) -> bytes:
            os.kill(os.getpid(), signal.SIGINT)
            raise AssertionError("the interrupt was not heard")

    lines = Input(Awaited(), 10)
    with lines.listening():
        assert list(lines) == []

    assert lines.interrupted


def test_an_interrupt_between_lines_lets_the_line_that_was_taken_pass() -> None:
    lines = Input(io.BytesIO(b"a\nb\n"), 10)
    with lines.listening():
        each = iter(lines)
        assert next(each) == b"a\n"
        os.kill(os.getpid(), signal.SIGINT)
        assert list(each) == []


def test_a_second_interrupt_is_one_like_any_other() -> None:
    lines = Input(io.BytesIO(b""), 10)
    with lines.listening():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_is_pythons_again_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Input(io.BytesIO(b""), 10).listening():
        assert signal.getsignal(signal.SIGINT) != before

    assert signal.getsignal(signal.SIGINT) == before
