"""All six servers: healthy, on loopback alone, small, and with their secrets kept."""

from __future__ import annotations

import json

import psutil

from headrace.services import Stack
from headrace.services.catalog import with_needs
from support.harness.observe import headrace, processes_in, status_of

PROCESSES = ["kafka-1", "postgres", "opensearch", "redis", "registry", "connect"]


def test_all_six_services_are_healthy(stack: Stack) -> None:
    found = stack.status()

    assert [process.process for process in found] == PROCESSES
    assert [p for p in found if p.health != "healthy"] == []
    assert {process.service for process in found} == {s.name for s in with_needs(())}


def test_the_command_shows_each_process_with_pid_port_and_health(stack: Stack) -> None:
    done = headrace("status", "--dir", stack.run_directory.path, "--format", "json")
    found = json.loads(done.stdout)

    assert done.returncode == 0
    assert [process["process"] for process in found] == PROCESSES
    for process in found:
        listening = {
            connection.laddr.port
            for connection in psutil.Process(process["pid"]).net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        }
        assert process["health"] == "healthy"
        assert process["port"] in listening
        assert str(process["port"]) in process["address"]


def test_the_command_shows_a_table_to_people(stack: Stack) -> None:
    done = headrace("status", "--dir", stack.run_directory.path)

    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == PROCESSES
    assert done.stderr == ""


def test_every_server_listens_on_loopback_alone(stack: Stack) -> None:
    sockets = [
        connection
        for process in processes_in(stack.run_directory.path)
        for connection in process.net_connections("inet")
        if connection.status in {psutil.CONN_LISTEN, psutil.CONN_NONE}
    ]

    assert len({connection.laddr.port for connection in sockets}) >= len(PROCESSES)
    assert {connection.laddr.ip for connection in sockets} == {"127.0.0.1"}


def test_the_run_directory_is_closed_to_others(stack: Stack) -> None:
    path = stack.run_directory.path
    files = [file for file in path.rglob("*") if file.is_file()]

    assert path.stat().st_mode & 0o777 == 0o700
    assert len(files) > 20
    assert [file for file in files if file.stat().st_mode & 0o022] == []


def test_all_servers_start_in_two_and_a_half_gibibytes(
    memory_at_start: dict[str, int],
) -> None:
    assert list(memory_at_start) == PROCESSES
    assert all(size > 2**20 for size in memory_at_start.values())
    assert sum(memory_at_start.values()) < 2.5 * 2**30, memory_at_start


def test_no_server_runs_as_root(stack: Stack) -> None:
    processes = processes_in(stack.run_directory.path)

    assert len(processes) >= len(PROCESSES)
    assert [process for process in processes if process.uids().effective == 0] == []


def test_starting_what_runs_is_harmless(stack: Stack) -> None:
    path = stack.run_directory.path
    before = {name: found["pid"] for name, found in status_of(path).items()}

    done = headrace("up", "--dir", path, "--format", "json")

    assert done.returncode == 0
    assert {p["process"]: p["pid"] for p in json.loads(done.stdout)} == before
    assert done.stderr.count("runs already") == len(with_needs(()))


def test_the_doctor_finds_a_machine_with_running_servers_well(stack: Stack) -> None:
    done = headrace("doctor", "--dir", stack.run_directory.path, "--format", "json")
    found = {finding["what"]: finding for finding in json.loads(done.stdout)}

    for what in ("java", "account", "disk", "run directory", "fixed ports"):
        assert found[what]["well"], found[what]
    assert found["artifacts"]["found"].startswith("all ")


def test_every_server_logs_and_its_log_is_shown(stack: Stack) -> None:
    path = stack.run_directory.path
    done = headrace("logs", "kafka", "--dir", path, "-n", "5")

    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 5
    sizes = {p: (path / p / f"{p}.log").stat().st_size for p in PROCESSES}
    assert [process for process, size in sizes.items() if size == 0] == []
