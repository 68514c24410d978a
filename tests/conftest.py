"""What all tests share: a directory that every account can reach, and an example."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

# The modules of the fraud example import each other as those of a program do.
sys.path.append(str(Path(__file__).parents[1] / "examples" / "fraud"))

# What a test leaves running is looked for, and caches of tests are removed.
os.environ.setdefault("HEADRACE_CLASS_ARCHIVES", "false")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what runs in the background so, and all that tests start would
    # not hear of Ctrl-C either.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def open_tmp() -> Iterator[Path]:
    """Give a directory that the servers' account can reach; pytest's is closed."""
    path = Path(tempfile.mkdtemp(prefix="headrace-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)
