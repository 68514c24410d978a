"""One set of real servers for the whole run, and small ones for faults."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator

import pytest

from headrace.services import ProcessStatus, Stack
from support.harness.capturing import Bank, bank_on
from support.harness.stacks import servers


@pytest.fixture(scope="session")
def started() -> Iterator[tuple[Stack, list[ProcessStatus]]]:
    """Give the six services, started once for all tests, as they were then."""
    with servers() as stack:
        yield stack, stack.up()


@pytest.fixture(scope="session")
def stack(started: tuple[Stack, list[ProcessStatus]]) -> Stack:
    """Give the six services."""
    return started[0]


@pytest.fixture(scope="session")
def memory_at_start(started: tuple[Stack, list[ProcessStatus]]) -> dict[str, int]:
    """Give the bytes of each process before anybody has used it."""
    return {process.process: process.memory_bytes for process in started[1]}


@pytest.fixture(scope="session")
def capture_stack() -> Iterator[Stack]:
    """Give servers for captures, apart: their slots are dropped and lost on purpose."""
    with servers() as stack:
        stack.up(["kafka", "postgres", "connect"])
        yield stack


@pytest.fixture
def bank(capture_stack: Stack, request: pytest.FixtureRequest) -> Iterator[Bank]:
    """Give a database of the test's own, whose capture is removed afterwards."""
    mark = hashlib.sha256(request.node.name.encode()).hexdigest()[:8]
    with bank_on(capture_stack, f"bank_{mark}") as bank:
        yield bank


@pytest.fixture
def new_stack() -> Iterator[Callable[..., Stack]]:
    """Give a way to make small stacks of one's own, stopped after the test."""
    with contextlib.ExitStack() as made:
        yield lambda **flags: made.enter_context(servers(**flags))


@pytest.fixture
def redis_stack(new_stack: Callable[..., Stack]) -> Stack:
    """Give a stack with Redis alone, which starts in half a second."""
    stack = new_stack()
    stack.up(["redis"])
    return stack
