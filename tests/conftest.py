"""What all tests share: a directory that every account can reach."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def open_tmp() -> Iterator[Path]:
    """Give a directory that the servers' account can reach; pytest's is closed."""
    path = Path(tempfile.mkdtemp(prefix="headrace-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)
