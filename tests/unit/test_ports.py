"""Ports: kept while free, never one that is promised or taken."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.errors import ServiceError, SettingsError
from headrace.services import SERVICES
from headrace.services.assign import assign_ports, check_fixed_ports
from headrace.services.ports import (
    FREE_RANGE,
    LOOPBACK,
    choose_port,
    is_free,
    require_free,
)
from headrace.services.rundir import Run, RunDirectory
from headrace.settings import load_settings

RUN = Run(run_id="run", cluster_id="cluster", brokers=1)


@pytest.fixture
def taken() -> Iterator[int]:
    """Give a port on which somebody else listens."""
    with socket.create_server((LOOPBACK, 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def free() -> int:
    """Give a port that nobody listens on."""
    return choose_port(None, "test_ports", (), FREE_RANGE)


def test_a_port_is_free_unless_somebody_listens(taken: int, free: int) -> None:
    assert is_free(free)
    assert not is_free(taken)


def test_a_port_in_its_closing_time_is_free() -> None:
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection((LOOPBACK, port)), server.accept()[0] as ours:
            ours.shutdown(socket.SHUT_RDWR)

    assert is_free(port)


def test_the_port_of_the_last_time_is_kept_while_it_is_free(free: int) -> None:
    assert choose_port(free, "seed", (), FREE_RANGE) == free


def test_another_port_is_chosen_when_the_last_one_is_taken(taken: int) -> None:
    chosen = choose_port(taken, "seed", (), FREE_RANGE)

    assert chosen != taken
    assert chosen in FREE_RANGE


def test_another_port_is_chosen_when_the_last_one_is_promised(free: int) -> None:
    assert choose_port(free, "seed", {free}, FREE_RANGE) != free


def test_the_same_seed_looks_in_the_same_place_and_others_elsewhere() -> None:
    chosen = {seed: choose_port(None, seed, (), FREE_RANGE) for seed in ("a", "b", "c")}

    assert choose_port(None, "a", (), FREE_RANGE) == chosen["a"]
    assert len(set(chosen.values())) == 3


def test_a_range_without_a_free_port_is_refused(taken: int, free: int) -> None:
    with pytest.raises(ServiceError) as refused:
        choose_port(None, "seed", {free}, [taken, free])

    assert refused.value.slug == "no-free-port"


def test_a_fixed_port_that_is_taken_is_refused(taken: int, free: int) -> None:
    require_free(free, "kafka-1")

    with pytest.raises(ServiceError) as refused:
        require_free(taken, "kafka-1")

    assert refused.value.slug == "port-taken"
    assert "kafka-1" in refused.value.fact


def test_a_port_for_no_process_is_refused() -> None:
    with pytest.raises(SettingsError) as refused:
        check_fixed_ports(load_settings(ports={"kafka": 9092}))

    assert refused.value.slug == "port-name-unknown"
    assert "kafka-1" in (refused.value.hint or "")


def test_every_port_of_every_process_can_be_fixed() -> None:
    names = [
        port
        for service in SERVICES.values()
        for process in service.process_names(3)
        for port in service.ports(process)
    ]

    fixed = dict(zip(names, FREE_RANGE, strict=False)) | {"opensearch": 9234}
    check_fixed_ports(load_settings(ports=fixed))
    assert len(names) == len(set(names))


def test_a_port_that_its_server_cannot_use_is_refused() -> None:
    with pytest.raises(SettingsError) as refused:
        check_fixed_ports(load_settings(ports={"opensearch": 24567}))

    assert refused.value.slug == "setting-rejected"
    assert "9201 to 9299" in (refused.value.hint or "")


def test_each_process_gets_ports_of_its_own(open_tmp: Path) -> None:
    settings = load_settings(ports={})
    directory = RunDirectory(settings, open_tmp)
    run = replace(RUN, brokers=3)

    ports = assign_ports(run, SERVICES.values(), settings, directory).ports

    assert len(ports) == 3 * 2 + 1 + 1 + 2 + 1 + 2 + 1
    assert len(set(ports.values())) == len(ports)


def test_a_fixed_port_is_given_to_nobody_else(open_tmp: Path) -> None:
    directory = RunDirectory(load_settings(), open_tmp)
    redis = [SERVICES["redis"]]
    chosen = assign_ports(RUN, redis, load_settings(ports={}), directory).ports["redis"]

    settings = load_settings(ports={"postgres": chosen})
    both = [SERVICES["redis"], SERVICES["postgres"]]
    ports = assign_ports(RUN, both, settings, directory).ports

    assert ports["postgres"] == chosen
    assert ports["redis"] != chosen


def test_a_remembered_port_that_somebody_took_is_replaced(
    taken: int, open_tmp: Path
) -> None:
    settings = load_settings(ports={})
    run = replace(RUN, ports={"redis": taken})
    directory = RunDirectory(settings, open_tmp)

    ports = assign_ports(run, [SERVICES["redis"]], settings, directory).ports

    assert ports["redis"] != taken


def test_one_port_fixed_for_two_processes_is_refused(open_tmp: Path, free: int) -> None:
    settings = load_settings(ports={"redis": free, "postgres": free})
    directory = RunDirectory(settings, open_tmp)
    both = [SERVICES["postgres"], SERVICES["redis"]]

    with pytest.raises(ServiceError) as refused:
        assign_ports(RUN, both, settings, directory)

    assert refused.value.slug == "port-taken"
