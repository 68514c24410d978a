"""Disk space: looked at before servers start, and again when one has died."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from headrace.artifacts.storage import disk_error

NEEDED_BYTES = 256 * 2**20
"""What the first start of all servers writes, twice over: Kafka's indexes alone
take 10 MB a partition, though sparsely."""


def require_space(directory: Path, needed: int = NEEDED_BYTES) -> None:
    """Refuse to go on where servers would die of a full disk.

    Raises:
        MachineError: [disk-full] less is free than the servers need.
    """
    free = free_bytes(directory)
    if free < needed:
        problem = OSError(
            errno.ENOSPC,
            f"{os.strerror(errno.ENOSPC)}: {free / 2**20:.0f} MiB free, "
            f"{needed / 2**20:.0f} MiB needed",
        )
        raise disk_error(problem, directory)


def free_bytes(directory: Path) -> int:
    """Give the free space of the disk that a directory is on, or would be on."""
    while not directory.exists():
        directory = directory.parent
    return shutil.disk_usage(directory).free
