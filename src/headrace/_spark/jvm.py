"""Start the JVM of a local Spark: Spark's own start would start two, and a shell."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

from headrace.artifacts import Cache, ClassArchive, Java, locked
from headrace.settings import load_settings

_MAIN = "org.apache.spark.api.python.PythonGatewayServer"
_LOOK_EVERY_SECONDS = 0.005

# What Spark's launcher adds, without its module for vector arithmetic: only its
# machine learning uses that, and each start would announce it.
_OPENED = (
    *("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util"),
    *("util.concurrent", "util.concurrent.atomic"),
)
MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.cs=ALL-UNNAMED",
    "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
    "--add-opens=java.base/sun.util.calendar=ALL-UNNAMED",
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)

# Where a user has set up Spark by the environment. PySpark sets others of its names
# itself, for whatever the process starts next.
_SET_UP = (
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_DIST_CLASSPATH",
    "SPARK_DRIVER_MEMORY",
    "SPARK_HOME",
    "SPARK_PREPEND_CLASSES",
    "SPARK_SUBMIT_OPTS",
)

# What only Spark's own start knows how to do.
_SUBMITTED = (
    "spark.archives",
    "spark.driver.defaultJavaOptions",
    "spark.driver.extraClassPath",
    "spark.driver.extraLibraryPath",
    "spark.driver.userClassPathFirst",
    "spark.files",
    "spark.jars",
    "spark.submit.",
)


def needs_submit(config: Mapping[str, str]) -> bool:
    """Tell whether a local session needs Spark's own start after all.

    It does where the user has set up Spark by its environment, or gives jars or
    files that Spark fetches before it starts.
    """
    is_set_up = any(name in os.environ for name in _SET_UP)
    return is_set_up or any(key.startswith(_SUBMITTED) for key in config)


@dataclass(frozen=True)
class Jvm:
    """A JVM that a session is to use: its process, and where it says how to reach it.

    It ends when its standard input does, so it never outlives this process.
    """

    process: subprocess.Popen[bytes]
    told: Path

    def address(self) -> tuple[int, str]:
        """Wait until it listens; return its port and its secret.

        Raises:
            ChildProcessError: It has ended instead.
        """
        while not self.told.exists():
            if self.process.poll() is not None:
                self.forget()
                raise ChildProcessError("Java has ended before it listened")
            time.sleep(_LOOK_EVERY_SECONDS)
        content = self.told.read_bytes()
        self.forget()
        port, length = struct.unpack_from(">ii", content)
        return port, content[8 : 8 + length].decode()

    def forget(self) -> None:
        """Remove what it wrote: the secret is of use to this process alone."""
        shutil.rmtree(self.told.parent, ignore_errors=True)

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()
        if self.process.stdin:
            with suppress(OSError):
                self.process.stdin.close()
        self.forget()


def arenas() -> str:
    """Return how many arenas the allocator of a JVM has, as its environment says it."""
    # What RocksDB frees is only used again by threads of the same arena, of which
    # glibc makes eight for a core: the process grows beyond all that it was allowed.
    return os.environ.get("MALLOC_ARENA_MAX", "4")


def start_jvm(java: Java, settings: Mapping[str, str]) -> Jvm:
    """Start the JVM of a local session; return without waiting for it.

    Args:
        java: The Java to run.
        settings: The session's settings, as `spark_settings` returns them. Only
            memory, class path and Java options are read; all others reach Spark with
            the session, and none of them is seen in the list of processes.
    """
    home = spark_home()
    added = settings["spark.driver.extraClassPath"].split(os.pathsep)
    told = Path(tempfile.mkdtemp(prefix="headrace-jvm-")) / "address"
    command = [
        str(java.executable),
        f"-Xmx{settings['spark.driver.memory']}",
        *spark_archive(java).options(make=load_settings().class_archives),
        *MODULE_OPTIONS,
        *shlex.split(settings["spark.driver.extraJavaOptions"]),
        *("-cp", os.pathsep.join([*map(str, spark_jars()), *added])),
        _MAIN,
    ]
    environment = {
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
        "MALLOC_ARENA_MAX": arenas(),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONNECT_MODE": "0",
        "SPARK_HOME": str(home),
    }
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        env={**os.environ, **environment},
        # Ctrl-C reaches all processes of a terminal; Python decides what it means.
        preexec_fn=_ignore_interrupts,  # noqa: PLW1509 - as PySpark itself does
    )
    return Jvm(process, told)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def spark_home() -> Path:
    """Return the directory of PySpark, which holds Spark's jars."""
    return Path(pyspark.__file__).parent


def spark_jars() -> list[Path]:
    """Return Spark's own jars, in one order on every start."""
    return sorted((spark_home() / "jars").glob("*.jar"))


def spark_archive(java: Java) -> ClassArchive:
    """Return the archive of the classes of Spark and of the Kafka connector.

    Our own jar is not part of it, nor are those of other sinks: they come behind on
    the class path, so that a change of theirs costs no new archive.
    """
    settings = load_settings()
    connector = map(Cache(settings).path, locked("spark-kafka"))
    return ClassArchive("spark", java, (*spark_jars(), *connector), settings.cache_dir)
