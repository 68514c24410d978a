"""One set of real servers for the whole run, and small ones for faults."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest
from stacks import servers

from headrace.services import Stack


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """Give the six services, started once for all tests."""
    with servers() as stack:
        stack.up()
        yield stack


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
