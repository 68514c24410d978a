"""One set of servers for all fault tests, and jobs on it that leave nothing behind."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.artifacts import spark_groups
from headrace.services import Stack
from headrace.services.addresses import Addresses
from headrace.settings import load_settings
from headrace.testing import session
from support.harness.rig import Job
from support.harness.warm import ColdDrivers, Drivers, WarmDrivers, Workshop


@pytest.fixture(scope="session")
def servers() -> Iterator[Stack]:
    """Give a stack without servers; each is started for the first test that asks."""
    home = Path(tempfile.mkdtemp(prefix="headrace-faults-"))
    home.chmod(0o755)
    stack = Stack(home / "run")
    try:
        yield stack
    finally:
        stack.down()
        shutil.rmtree(home)


@pytest.fixture(scope="session")
def bootstrap(servers: Stack) -> str:
    servers.up(["kafka"])
    return servers.address("kafka")


@pytest.fixture(scope="session")
def postgres(servers: Stack) -> str:
    servers.up(["postgres"])
    return servers.address("postgres")


@pytest.fixture(scope="session")
def redis_address(servers: Stack) -> str:
    servers.up(["redis"])
    return servers.address("redis")


@pytest.fixture(scope="session")
def opensearch_address(servers: Stack) -> str:
    servers.up(["opensearch"])
    return servers.address("opensearch")


@pytest.fixture
def own_server(open_tmp: Path) -> Iterator[Callable[[str], Stack]]:
    """Start a server of the test's own, to be killed, emptied or changed."""
    stack = Stack(open_tmp / "run")

    def up(service: str) -> Stack:
        stack.up([service])
        return stack

    yield up
    stack.down()


@pytest.fixture(scope="session")
def addresses(servers: Stack) -> Addresses:
    return Addresses(load_settings(), servers)


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """One session for all tests in this process, with the clients of all sinks."""
    return session("headrace-tests", groups=SINK_GROUPS)


SINK_GROUPS = [group for group in spark_groups() if group != "spark-kafka"]

_NUMBERS = count(1)


@pytest.fixture
def new_job(bootstrap: str, tmp_path: Path) -> Callable[..., Job]:
    """Make a job with topics and a checkpoint of its own."""

    def make(**changes: Any) -> Job:
        name = f"job-{next(_NUMBERS)}"
        return Job(bootstrap, tmp_path / name, name, **changes)

    return make


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmDrivers]:
    """One JVM for all drivers, which outlives their crashes."""
    made = WarmDrivers()
    yield made
    made.close()


@pytest.fixture(params=["warm", pytest.param("cold", marks=pytest.mark.long)])
def drivers(request: pytest.FixtureRequest) -> Drivers:
    """Run drivers in one warm JVM, and at length each in a process that is killed."""
    if request.param == "cold":
        return ColdDrivers()
    made: WarmDrivers = request.getfixturevalue("warm")
    return made


@pytest.fixture(scope="session")
def workshop(warm: WarmDrivers) -> Workshop:
    """One Spark for all tests in which no process dies."""
    return Workshop(warm)
