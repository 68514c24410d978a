"""The lock: every file we fetch, by exact coordinate and SHA-256."""

from __future__ import annotations

import platform
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from headrace.errors import FetchError, MachineError

LOCK_FILE = Path(__file__).with_name("artifacts.lock")

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}


@dataclass(frozen=True)
class Artifact:
    """One file of a Maven repository, and the hash that it must have."""

    coordinate: str
    sha256: str
    size: int

    @property
    def parts(self) -> tuple[str, str, str, str, str]:
        """Group, artifact, version, classifier and packaging of the coordinate.

        Example:
            >>> Artifact("g:a:1.0:all@tar.gz", "", 0).parts
            ('g', 'a', '1.0', 'all', 'tar.gz')
        """
        names, _, packaging = self.coordinate.partition("@")
        group, artifact, version, *classifier = names.split(":")
        return (
            group,
            artifact,
            version,
            classifier[0] if classifier else "",
            packaging or "jar",
        )

    @property
    def path(self) -> PurePosixPath:
        """Where the file lies in a repository of Maven's layout.

        Example:
            >>> str(Artifact("org.x:a:1.0", "", 0).path)
            'org/x/a/1.0/a-1.0.jar'
        """
        group, artifact, version, classifier, packaging = self.parts
        tail = f"-{classifier}" if classifier else ""
        directory = PurePosixPath(*group.split("."), artifact, version)
        return directory / f"{artifact}-{version}{tail}.{packaging}"


@cache
def _groups(lock_file: Path) -> dict[str, tuple[Artifact, ...]]:
    with lock_file.open("rb") as file:
        content = tomllib.load(file)
    return {
        name: tuple(Artifact(*row) for row in rows)
        for name, rows in content["groups"].items()
    }


def locked(group: str, lock_file: Path = LOCK_FILE) -> tuple[Artifact, ...]:
    """Give the locked artifacts of a group, such as ``kafka``.

    Raises:
        FetchError: [artifact-group-unknown] the lock has no such group.
    """
    groups = _groups(lock_file)
    if group not in groups:
        raise FetchError(
            "artifact-group-unknown",
            f'the lock has no group "{group}"',
            hint=f"its groups are: {', '.join(sorted(groups))}.",
            where=lock_file.name,
        )
    return groups[group]


def spark_groups(lock_file: Path = LOCK_FILE) -> list[str]:
    """Give the groups of jars that Spark can be given: connector and sinks.

    Example:
        >>> "spark-kafka" in spark_groups()
        True
    """
    return sorted(name for name in _groups(lock_file) if name.startswith("spark-"))


def platform_tag() -> str:
    """Name this machine as the lock's groups do, such as ``linux-amd64``.

    Raises:
        MachineError: [platform-unsupported] no server binaries exist for it.
    """
    system, machine = platform.system(), platform.machine().lower()
    if system in _SYSTEMS and machine in _MACHINES:
        return f"{_SYSTEMS[system]}-{_MACHINES[machine]}"
    raise MachineError(
        "platform-unsupported",
        f"there are no server binaries for {system} on {machine}",
        hint="run on Linux or macOS, x86-64 or ARM64; on Windows use WSL 2.",
    )
