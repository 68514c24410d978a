"""One Kafka for all fault tests, and jobs on it that leave nothing behind."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from rig import Job, Workshop

from headrace.services import Stack


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    home = Path(tempfile.mkdtemp(prefix="headrace-faults-"))
    home.chmod(0o755)
    stack = Stack(home / "run")
    try:
        stack.up(["kafka"])
        yield stack.address("kafka")
    finally:
        stack.down()
        shutil.rmtree(home)


_NUMBERS = count(1)


@pytest.fixture
def new_job(bootstrap: str, tmp_path: Path) -> Callable[..., Job]:
    """Make a job with topics and a checkpoint of its own."""

    def make(**changes: Any) -> Job:
        name = f"job-{next(_NUMBERS)}"
        return Job(bootstrap, tmp_path / name, name, **changes)

    return make


@pytest.fixture(scope="session")
def workshop() -> Iterator[Workshop]:
    """One Spark for all tests in which no process dies."""
    made = Workshop()
    yield made
    made.close()
