"""The jar of our own that runs inside Kafka Connect."""

from __future__ import annotations

from pathlib import Path

from headrace.errors import MachineError

_JAR = Path(__file__).with_name("connect.jar")


def connect_jar() -> Path:
    """Give the jar that stands beside Debezium's connector for PostgreSQL.

    Raises:
        MachineError: [connect-jar-missing] it has not been built.
    """
    if not _JAR.is_file():
        raise MachineError(
            "connect-jar-missing",
            "headrace's connector is not built",
            detail=f"{_JAR} does not exist; every released wheel holds it.",
            hint="in a clone, run `python jvm/hatch_build.py` (it needs a JDK); "
            "otherwise `pip install --force-reinstall --no-deps headrace`.",
        )
    return _JAR
