"""Find a Java that Spark and every server run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import MachineError
from headrace.settings import Settings, load_settings

OLDEST, NEWEST = 17, 23
"""Spark needs 17; OpenSearch 2 needs a security manager, which 24 took out."""

_JVM_DIRECTORIES = ("/usr/lib/jvm", "/Library/Java/JavaVirtualMachines")

INSTALL_HINT = (
    "install a JDK 17: `apt-get install openjdk-17-jdk-headless` (Debian, Ubuntu), "
    "`dnf install java-17-openjdk-devel` (Fedora), `brew install openjdk@17` (macOS)."
)


@dataclass(frozen=True)
class Java:
    """An installed Java: its home and its major version."""

    home: Path
    major: int

    @property
    def executable(self) -> Path:
        """The program that starts a JVM."""
        return self.home / "bin" / "java"

    @property
    def fits(self) -> bool:
        """Whether Spark and every server run on this version."""
        return OLDEST <= self.major <= NEWEST


def find_java(settings: Settings | None = None) -> Java:
    """Give the Java of the settings, or the first fitting one of this machine.

    Looked at in order: the setting ``java_home``, ``JAVA_HOME``, ``java`` on the
    path, the usual directories. A setting is an order: another Java is not taken
    in its place.

    Raises:
        MachineError: [java-missing] there is none; [java-too-old], [java-too-new]
            there is none in the supported range.
    """
    settings = settings or load_settings()
    if settings.java_home:
        found = [java for java in [_inspect(settings.java_home)] if java]
    else:
        found = list(_installed())
    for java in found:
        if java.fits:
            return java
    raise _no_java(found, settings.java_home)


def _no_java(found: list[Java], asked_for: Path | None) -> MachineError:
    where = str(asked_for) if asked_for else None
    if not found:
        return MachineError(
            "java-missing", "there is no Java here", hint=INSTALL_HINT, where=where
        )
    java = found[0]
    old = java.major < OLDEST
    return MachineError(
        "java-too-old" if old else "java-too-new",
        f"Java {java.major} is too {'old' if old else 'new'}: "
        f"{OLDEST} to {NEWEST} is needed",
        detail="found " + ", ".join(f"{j.major} in {j.home}" for j in found) + ".",
        hint=INSTALL_HINT + "\nThen point JAVA_HOME or HEADRACE_JAVA_HOME at it.",
        where=where,
    )


def _installed() -> Iterator[Java]:
    homes = []
    if os.environ.get("JAVA_HOME"):
        homes.append(Path(os.environ["JAVA_HOME"]))
    on_path = shutil.which("java")
    if on_path:
        homes.append(Path(on_path).resolve().parent.parent)
    for directory in map(Path, _JVM_DIRECTORIES):
        if directory.is_dir():
            homes += sorted(directory.iterdir())
            homes += sorted(directory.glob("*/Contents/Home"))
    seen = set()
    for home in homes:
        real = home.resolve()
        java = None if real in seen else _inspect(home)
        seen.add(real)
        if java:
            yield java


def _inspect(home: Path) -> Java | None:
    """Read a Java's version from its ``release`` file, or by asking it."""
    executable = home / "bin" / "java"
    if not os.access(executable, os.X_OK):
        return None
    release = home / "release"
    if release.is_file():
        text = release.read_text(errors="replace")
        version = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    else:
        try:
            answer = subprocess.run(
                [executable, "-version"],
                capture_output=True,
                text=True,
                timeout=30,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr)
    return Java(home, int(version.group(1))) if version else None
