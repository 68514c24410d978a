"""Start Spark with the settings that headrace's guarantees rest on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from headrace._spark.bridge import operators_jar
from headrace._spark.jvm import Jvm, arenas, needs_submit, start_jvm
from headrace._spark.versions import require_supported
from headrace.artifacts import Java, fetch, find_java
from headrace.errors import MachineError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_LOGGING = Path(__file__).with_name("log4j2.properties")

_STATE_STORE = "spark.sql.streaming.stateStore"

_SETTINGS = {
    # transformWithState keeps its state in RocksDB only, and the changelog makes a
    # commit as large as what changed instead of as large as the state.
    f"{_STATE_STORE}.providerClass": "org.apache.spark.sql.execution.streaming.state."
    "RocksDBStateStoreProvider",
    f"{_STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "true",
    # Version 2 gives each state file an id of its own, so a task that was run twice
    # cannot replace the file of the one that was committed.
    f"{_STATE_STORE}.checkpointFormatVersion": "2",
    # RocksDB takes memory beside the heap, for each store that is open; this is the
    # most for all of them together.
    f"{_STATE_STORE}.rocksdb.boundedMemoryUsage": "true",
    f"{_STATE_STORE}.rocksdb.maxMemoryUsageMB": "512",
    # Frozen into a checkpoint by its first batch. Spark's 200 would be 200 state
    # stores for each operator on a laptop.
    "spark.sql.shuffle.partitions": "4",
    # A reused exchange is a leaf to Spark's watermark propagation: each operator
    # above it would see a watermark of 0 for ever.
    "spark.sql.exchange.reuse": "false",
    # A plan of a few operators is more than a hundred generated classes, and Spark
    # keeps a hundred: each batch would compile all of them again.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # Java compiles no longer method: one that Spark generates for many steps at once
    # would be interpreted for ever, which is slower than step by step.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # Queries of one session share its cores; each has a pool of its own.
    "spark.scheduler.mode": "FAIR",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # What a web page would show is kept though there is none, and the plan of a batch
    # can be a megabyte of text: Spark would hold a thousand of them on the heap.
    "spark.sql.ui.retainedExecutions": "5",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "500",
    # The text of a batch's plan, which nobody sees; other ways of writing it cost more.
    "spark.sql.ui.explainMode": "simple",
    # Without input, Spark asks the brokers again after this; its 10 ms keep a tenth of
    # a core busy.
    "spark.sql.streaming.pollingDelay": "50ms",
}

_DELTA = {
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog"
    ".DeltaCatalog",
    # Two processes may commit to one table, which Delta's own store for disks does not
    # allow for.
    "spark.delta.logStore.file.impl": "io.headrace.sinks.lake.LocalLog",
}
_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_SHARING_EXTENSION = "io.headrace.sharing.Sharing"

# Delta reads the state of a table in 50 tasks unless told otherwise, for each commit.
_LOCAL_DELTA = {"spark.databricks.delta.snapshotPartitions": "2"}

# How a user says what the heap's parts are.
_DIVIDED = re.compile(r"-Xm[sn]|-XX:(NewRatio|(Max|Initial|Min)?(New|Heap)Size\w*)=")
_NEW = ("-XX:NewRatio=1", "-XX:-UseAdaptiveSizePolicy", "-XX:SurvivorRatio=6")

_JVM_END_SECONDS = 30

_MASTER = re.compile(r"local(\[.+\])?|spark://.+|k8s://.+|yarn")

_LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Everything runs in the driver here; Spark's 1g is meant for one that only plans.
    "spark.driver.memory": "2g",
    # What Spark may keep has to fit into the half of the heap that is for what is old.
    "spark.memory.fraction": "0.45",
    # Hadoop's own start processes for what Java can do by itself. An executor of a
    # cluster opens its disk before it has our jar, so this is for one process alone.
    "spark.hadoop.fs.file.impl": "io.headrace.files.DiskFiles",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "io.headrace.files.DiskContext",
}

_CLUSTER = {
    # A lane that comes to another executor opens new clients, and at Spark's own level
    # each writes all its settings into the executor's log.
    "spark.executor.syncLogLevel.enabled": "true",
}


def session(
    name: str,
    *,
    master: str = "local[2]",
    config: Mapping[str, str] | None = None,
    jars: Sequence[Path] | None = None,
    groups: Sequence[str] = (),
    log_level: str = "error",
) -> SparkSession:
    """Give a Spark session that holds the operators and the Kafka connector.

    A process has one session. Where it runs already, on the same master, it is
    returned, and of `config` only what Spark lets change at any time takes effect.

    Args:
        name: The application's name, as a cluster shows it.
        master: Where to run, as Spark writes it.
        config: Spark settings to add, or to set differently. Jars, class path and
            Java options are added to headrace's own and do not replace them.
        jars: The jars to load beside the operators: the locked Kafka connector,
            fetched when it is not there yet, unless given.
        groups: The groups of the artifact lock to load too: what the sinks of a
            pipeline name.
        log_level: What of the JVM's log goes to standard error; on a cluster also
            what the executors log.

    Raises:
        MachineError: [java-missing], [java-too-old], [java-too-new],
            [operators-jar-missing], [spark-version-unsupported] this machine lacks
            a part; [spark-start-failed] Spark has stopped while starting.
        SettingsError: [master-unknown] `master` is not one of Spark's;
            [session-already-running] this process has a session elsewhere.
        FetchError: The connector could not be had.
    """
    starting = begin(master=master, config=config, jars=jars, groups=groups)
    return starting.session(name, log_level=log_level)


def begin(
    *,
    master: str = "local[2]",
    config: Mapping[str, str] | None = None,
    jars: Sequence[Path] | None = None,
    groups: Sequence[str] = (),
) -> Starting:
    """Begin to start a session: its JVM comes up while the caller does other things.

    The arguments are those of `session`, and so is what it raises.
    """
    require_supported(pyspark.__version__)
    settings = spark_settings(master, jars=jars, groups=groups, config=config)
    _require_no_other(master)
    java = find_java()
    jvm = None
    is_running = SparkContext._gateway is not None
    if _is_local(master) and not is_running and not needs_submit(config or {}):
        jvm = start_jvm(java, settings)
        # The class path has them; Spark would copy them for its executors.
        del settings["spark.jars"]
    return Starting(master, settings, java, jvm)


@dataclass(frozen=True)
class Starting:
    """A session that is being started."""

    master: str
    settings: Mapping[str, str]
    java: Java
    jvm: Jvm | None

    def session(self, name: str, *, log_level: str = "error") -> SparkSession:
        """Wait for the JVM, and return the session.

        Raises:
            MachineError: [spark-start-failed] Spark has stopped while starting.
        """
        builder = SparkSession.builder.appName(name).master(self.master)
        for key, value in self.settings.items():
            builder = builder.config(key, value)
        try:
            with _environment(self.java.home, self.jvm, local=_is_local(self.master)):
                spark = builder.getOrCreate()
        except (ChildProcessError, Py4JError, PySparkException) as error:
            self.give_up()
            raise _start_failed(error, self.master) from error
        if self.jvm is not None:
            # Where PySpark keeps a JVM that it has started itself.
            gateway: Any = SparkContext._gateway
            gateway.proc = self.jvm.process
        _quieten(spark, log_level)
        return spark

    def give_up(self) -> None:
        """Start no session after all; end the JVM at once."""
        if self.jvm is not None:
            self.jvm.kill()


def _quieten(spark: SparkSession, log_level: str) -> None:
    spark.sparkContext.setLogLevel(log_level.upper())
    for logger in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        # Each error of a plan, with its Java trace, which the exception has as well.
        PySparkLogger.getLogger(logger).setLevel("CRITICAL")


def end(spark: SparkSession) -> None:
    """Stop a session and wait until its JVM is gone.

    Spark's own `stop` leaves the JVM to end some time after Python has, where it
    still holds memory and ports while the next command starts.
    """
    gateway: Any = SparkContext._gateway
    spark.stop()
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    # The JVM ends when its input does.
    process.stdin.close()
    try:
        process.wait(_JVM_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def spark_settings(
    master: str,
    *,
    config: Mapping[str, str] | None = None,
    jars: Sequence[Path] | None = None,
    groups: Sequence[str] = (),
) -> dict[str, str]:
    """Give the Spark settings of a session, without starting one.

    The arguments are those of `session`.

    Raises:
        SettingsError: [master-unknown] `master` is not one of Spark's.
        MachineError: [operators-jar-missing] the operators are not built.
        FetchError: The connector could not be had.
    """
    if not _MASTER.fullmatch(master):
        raise SettingsError(
            "master-unknown",
            f'Spark has no master "{master}"',
            hint="give local[2], local[*], spark://host:port, k8s://host:port or yarn.",
        )
    own = operators_jar()
    # The connector first and our own last: see `spark_archive`.
    wanted = [*(["spark-kafka"] if jars is None else []), *groups]
    jars = [*(jars or ()), *(fetch(*wanted) if wanted else ())]
    settings = _SETTINGS | (_LOCAL if _is_local(master) else _CLUSTER)
    if "spark-delta" in groups:
        settings |= _DELTA | (_LOCAL_DELTA if _is_local(master) else {})
    settings |= config or {}

    def extend(key: str, separator: str, *values: str) -> None:
        given = filter(None, [settings.get(key)])
        settings[key] = separator.join([*values, *given])

    extensions = [_SHARING_EXTENSION]
    if "spark-delta" in groups:
        extensions.append(_DELTA_EXTENSION)
    extend("spark.sql.extensions", ",", *extensions)
    extend("spark.jars", ",", *(path.absolute().as_uri() for path in (*jars, own)))
    # What spark.jars brings is seen by threads that carry spark-submit's class loader;
    # the class path is seen by all. Py4J's threads find our classes there, and a class
    # that was found there looks for Kafka's client nowhere else.
    extend("spark.driver.extraClassPath", os.pathsep, *map(str, (*jars, own)))
    options = [f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"]
    java_options = "spark.driver.extraJavaOptions"
    options += _collecting(settings, settings.get(java_options, ""), master)
    extend(java_options, " ", *options)
    return settings


def _collecting(settings: Mapping[str, str], given: str, master: str) -> list[str]:
    """Say how Java collects garbage, unless somebody has said it."""
    if re.search(r"-XX:\+Use\w+GC\b", given):
        return []
    # Batches ask for throughput, not for short pauses.
    options = ["-XX:+UseParallelGC"]
    memory = settings.get("spark.driver.memory")
    if _is_local(master) and memory and not _DIVIDED.search(given):
        # Nearly all that a batch makes is garbage when it ends. With half the heap for
        # what is new, from the start, and room to stay there for some batches, hardly
        # any of it comes to where only a collection of everything finds it, which
        # takes half a second and stops the batch for as long.
        options += [f"-Xms{memory}", *_NEW]
    return options


def _is_local(master: str) -> bool:
    return master.startswith("local")


def _require_no_other(master: str) -> None:
    # Not getActiveSession(), which knows the calling thread's session alone.
    running = SparkContext._active_spark_context
    if running and running.master != master:
        raise SettingsError(
            "session-already-running",
            f"this process has a Spark session on {running.master}",
            detail=f"a process has one session, and {master} is asked for.",
            hint="stop the running one first, or start another process.",
        )


@contextmanager
def _environment(java_home: Path, jvm: Jvm | None, *, local: bool) -> Iterator[None]:
    """Set what Spark reads from the environment while it starts, and only then."""
    wanted = {"JAVA_HOME": str(java_home), "PYSPARK_PYTHON": sys.executable}
    # Without PYSPARK_PYTHON, Python workers run the first python3 on the path, which
    # has none of our packages. On a cluster the user knows better where Python is.
    if not local and "PYSPARK_PYTHON" in os.environ:
        del wanted["PYSPARK_PYTHON"]
    wanted["MALLOC_ARENA_MAX"] = arenas()
    if jvm is not None:
        port, secret = jvm.address()
        wanted |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _start_failed(error: Exception, master: str) -> MachineError:
    reason = getattr(error, "java_exception", None) or error
    return MachineError(
        "spark-start-failed",
        "Spark has stopped while starting",
        detail=str(reason).splitlines()[0],
        hint="the lines above come from the JVM and name the cause; often it is a "
        "setting in `config`, the master's address, or too little memory.",
        where=f"master {master}",
    )
