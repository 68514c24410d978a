"""Directories that sinks write to, under names that mean the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def absolute(directory: str) -> str:
    """Give a directory's full name; one of another file system has it already.

    The JVM has a working directory of its own, which need not be Python's.

    Example:
        >>> absolute("s3a://lake/payments"), absolute("/lake/payments")
        ('s3a://lake/payments', '/lake/payments')
    """
    if _SCHEME.match(directory):
        return directory
    return str(Path(directory).absolute())
