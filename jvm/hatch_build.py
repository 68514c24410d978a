"""Compile the two jars that ship inside the wheel: operators and connectors.

Hatchling calls this while it builds a wheel, an editable one too. To rebuild the
jars alone after a change in ``jvm``::

    python jvm/hatch_build.py

The compiler is the JDK's own ``javac``. The operators of ``jvm/src`` run in Spark:
their class path is the jars PySpark carries and the locked jars of the Kafka connector
and of the sinks' clients. What is in ``jvm/connect`` runs in Kafka Connect, beside the
locked connector for PostgreSQL. So both are checked against exactly what they will
run with.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src"
JAR = "src/headrace/_spark/operators.jar"
CONNECT_JAR = "src/headrace/artifacts/connect.jar"

# The oldest time a zip file can hold: the jar depends on its sources alone.
TIMESTAMP = (1980, 1, 1, 0, 0, 0)
MANIFEST = "META-INF/MANIFEST.MF"

DEBEZIUM = "io.debezium"
INTERFACES = {("org.apache.kafka", name) for name in ("connect-api", "kafka-clients")}


class JarBuildError(Exception):
    """The jar could not be built; the message says what to do about it."""


class OwnJars(BuildHookInterface[BuilderConfig]):
    """Build the jars before hatchling collects the wheel's files."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the jars and name them as artifacts, as git ignores them."""
        try:
            build_all(Path(self.root))
        except JarBuildError as error:
            self.app.abort(str(error))
        build_data["artifacts"] += [f"/{JAR}", f"/{CONNECT_JAR}"]


def build_all(root: Path) -> None:
    """Build both jars into the package of the tree at `root`.

    Raises:
        JarBuildError: As `build_jar`.
    """
    build_jar(root / JAR)
    build_jar(root / CONNECT_JAR, HERE / "connect", connect_class_path)


def build_jar(
    jar: Path, sources: Path = SOURCES, find: Callable[[], str] | None = None
) -> None:
    """Compile every class below `sources` and pack the result as `jar`.

    Args:
        jar: The jar to write.
        sources: Where the classes are, and what else goes into the jar beside them.
        find: Gives the class path; that of the operators if left out.

    Raises:
        JarBuildError: There is no compiler or no PySpark, or the sources do not
            compile without a warning.
    """
    with tempfile.TemporaryDirectory() as scratch:
        classes = Path(scratch)
        compile_classes(sources, classes, find or class_path)
        for kept in sorted((sources / "META-INF").rglob("*")):
            if kept.is_file():
                copy = classes / kept.relative_to(sources)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(kept.read_bytes())
        # A running JVM may have the old jar open. Moving a new file into its place
        # leaves the old one readable; writing into it would not.
        fresh = jar.with_name(f"{jar.stem}.{os.getpid()}.jar")
        pack(classes, fresh)
        fresh.replace(jar)


def compile_classes(sources: Path, classes: Path, find: Callable[[], str]) -> None:
    """Run javac over `sources`, with every warning an error."""
    command = [
        find_javac(),
        *("--release", "17", "-encoding", "UTF-8", "-proc:none"),
        # Some of PySpark's jars name others in their manifests that it leaves out,
        # hence no warnings about the class path itself.
        *("-Xlint:all,-path", "-Werror"),
        *("-classpath", find()),
        *("-d", str(classes)),
        *sorted(str(source) for source in sources.rglob("*.java")),
    ]
    result = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if result.returncode:
        raise JarBuildError(f"{sources.name} does not compile:\n{result.stdout}")


def pack(classes: Path, jar: Path) -> None:
    """Write a jar that is the same, byte for byte, for the same classes."""
    files = {
        path.relative_to(classes).as_posix(): path.read_bytes()
        for path in classes.rglob("*")
        if path.is_file()
    }
    # Stored, not deflated: compressors differ between machines, and the wheel
    # around the jar is compressed anyway.
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_STORED) as archive:
        # Java reads the manifest only if it comes first.
        archive.writestr(_entry(MANIFEST), b"Manifest-Version: 1.0\r\n\r\n")
        for name in sorted(files):
            archive.writestr(_entry(name), files[name])


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, TIMESTAMP)
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    return entry


def find_javac() -> str:
    """Give the compiler of ``JAVA_HOME``, or else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    found = (home and shutil.which("javac", path=Path(home, "bin"))) or shutil.which(
        "javac"
    )
    if not found:
        raise JarBuildError(
            "javac is missing: building headrace from its sources needs a JDK, 17 or "
            "newer.\nInstall one (Debian: openjdk-17-jdk-headless, macOS: brew install "
            "openjdk@17), or set JAVA_HOME to one. A JRE is not enough.\nInstalling "
            "the released wheel needs no compiler."
        )
    return found


def class_path() -> str:
    """Give the jars that the operators are compiled against."""
    return os.pathsep.join([str(pyspark_jars() / "*"), *map(str, locked_jars())])


def connect_class_path() -> str:
    """Give the jars that what runs in Kafka Connect is compiled against."""
    return os.pathsep.join(map(str, locked_jars(connect=True)))


def locked_jars(*, connect: bool = False) -> list[Path]:
    """Give the locked jars of connector and sinks, fetched if they are not there.

    Args:
        connect: Give those of Kafka's and Debezium's own interfaces instead.

    Raises:
        JarBuildError: They could not be had; the message says why.
    """
    # The tree that is being built knows its own lock. It need not be installed yet.
    sys.path.insert(0, str(HERE.parent / "src"))
    try:
        from headrace.artifacts import Cache, locked, spark_groups  # noqa: PLC0415
        from headrace.errors import HeadraceError  # noqa: PLC0415
        from headrace.settings import load_settings  # noqa: PLC0415
    finally:
        del sys.path[0]
    groups = ["connect", "connect-postgres"] if connect else spark_groups()
    wanted = [artifact for group in groups for artifact in locked(group)]
    if connect:
        wanted = [a for a in wanted if a.parts[:2] in INTERFACES or DEBEZIUM in a.parts]
    try:
        return Cache(load_settings()).paths(wanted)
    except HeadraceError as error:
        raise JarBuildError(str(error)) from error


def pyspark_jars() -> Path:
    """Give the directory of jars inside the installed PySpark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarBuildError(
            "pyspark is missing: the operators are compiled against the jars it "
            "carries. Install the pyspark that pyproject.toml names under "
            "[build-system], or build with build isolation."
        )
    return Path(spec.origin).parent / "jars"


if __name__ == "__main__":
    try:
        build_all(HERE.parent)
    except JarBuildError as failure:
        sys.exit(str(failure))
