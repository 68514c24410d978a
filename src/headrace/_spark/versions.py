"""The versions of Spark that headrace's operators are compiled for and tried on."""

from __future__ import annotations

import re

from headrace.errors import MachineError

OLDEST = (4, 2, 1)
BELOW = (4, 3)


def require_supported(version: str) -> None:
    """Refuse a version of Spark that the operators do not fit.

    The operators are compiled against one Spark and use interfaces that change
    between minor versions; on another, they would fail inside a running batch.

    Args:
        version: As Spark or PySpark reports it.

    Raises:
        MachineError: [spark-version-unsupported] it lies outside the range.

    Example:
        >>> require_supported("4.2.1")
        >>> require_supported("4.3.0")
        Traceback (most recent call last):
        headrace.errors.MachineError: MachineError [spark-version-unsupported]: ...
    """
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if numbers and OLDEST <= tuple(map(int, numbers.groups())) < BELOW:
        return
    oldest, below = (".".join(map(str, bound)) for bound in (OLDEST, BELOW))
    raise MachineError(
        "spark-version-unsupported",
        f"Spark {version} is not supported: {oldest} or newer, below {below}, is",
        detail="headrace's operators are compiled for these versions.",
        hint=f'run `pip install "pyspark>={oldest},<{below}"`; if SPARK_HOME is set, '
        "the Spark it names has to be of the same version.",
    )
