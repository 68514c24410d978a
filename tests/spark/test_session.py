"""The session is set up as promised, and leaves the process as it was."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pyspark
import pytest

from headrace import MachineError, SettingsError
from headrace._spark import operators_jar, session, spark_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# `import headrace._spark.session` would give the function of that name.
session_module = importlib.import_module("headrace._spark.session")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        (
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        ),
        (
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
            "true",
        ),
        ("spark.sql.streaming.stateStore.checkpointFormatVersion", "2"),
        ("spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage", "true"),
        ("spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB", "512"),
        ("spark.sql.ui.retainedExecutions", "5"),
        ("spark.sql.shuffle.partitions", "4"),
        ("spark.sql.exchange.reuse", "false"),
        ("spark.scheduler.mode", "FAIR"),
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.ui.enabled", "false"),
        ("spark.driver.host", "127.0.0.1"),
    ],
)
def test_the_running_session_holds_the_setting(
    spark: SparkSession, setting: str, value: str
) -> None:
    assert spark.conf.get(setting) == value


def test_a_local_session_listens_on_loopback_alone(spark: SparkSession) -> None:
    jvm = [p for p in psutil.Process().children() if "java" in p.name()]

    addresses = {
        connection.laddr.ip.removeprefix("::ffff:")
        for process in jvm
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }

    assert addresses == {"127.0.0.1"}


def test_a_local_driver_has_the_memory_of_one_that_does_all_the_work(
    spark: SparkSession,
) -> None:
    assert spark._jvm is not None

    heap = spark._jvm.java.lang.Runtime.getRuntime().maxMemory()

    # The parallel collector counts one of its two survivor spaces out.
    assert 1.7 * 2**30 < heap <= 2 * 2**30


def test_the_driver_collects_garbage_in_parallel(spark: SparkSession) -> None:
    assert spark._jvm is not None
    factory = spark._jvm.java.lang.management.ManagementFactory

    names = [bean.getName() for bean in factory.getGarbageCollectorMXBeans()]

    assert names
    assert all(name.startswith("PS ") for name in names)


def test_the_allocator_has_few_arenas(spark: SparkSession) -> None:
    assert spark._jvm is not None

    given = os.environ.get("MALLOC_ARENA_MAX", "4")

    assert spark._jvm.System.getenv("MALLOC_ARENA_MAX") == given


def test_python_workers_run_this_interpreter(spark: SparkSession) -> None:
    def interpreter(_: int) -> str:
        return sys.executable

    workers = spark.sparkContext.parallelize([0], 1).map(interpreter).collect()

    assert workers == [sys.executable]


def test_a_second_session_is_the_first_one(spark: SparkSession) -> None:
    assert session("another", jars=()).sparkContext is spark.sparkContext


def test_settings_of_the_user_win() -> None:
    settings = spark_settings(
        "local[2]", jars=(), config={"spark.sql.shuffle.partitions": "9"}
    )

    assert settings["spark.sql.shuffle.partitions"] == "9"


def test_jars_and_java_options_of_the_user_are_added() -> None:
    settings = spark_settings(
        "local[2]",
        jars=[Path("/jars/connector.jar")],
        config={
            "spark.jars": "file:///jars/mine.jar",
            "spark.driver.extraClassPath": "/classes",
            "spark.driver.extraJavaOptions": "-Dmine=1",
        },
    )

    own = operators_jar()
    assert settings["spark.jars"].split(",") == [
        "file:///jars/connector.jar",
        own.as_uri(),
        "file:///jars/mine.jar",
    ]
    class_path = ["/jars/connector.jar", str(own), "/classes"]
    assert settings["spark.driver.extraClassPath"] == os.pathsep.join(class_path)
    assert settings["spark.driver.extraJavaOptions"].endswith(
        " -XX:NewRatio=1 -XX:-UseAdaptiveSizePolicy -XX:SurvivorRatio=6 -Dmine=1"
    )


def java_options(given: str, master: str = "local[2]", **config: str) -> list[str]:
    config = {"spark.driver.extraJavaOptions": given, **config}
    settings = spark_settings(master, jars=(), config=config)
    return settings["spark.driver.extraJavaOptions"].split()[1:]


def test_a_collector_the_user_chose_is_not_doubled() -> None:
    assert java_options("-XX:+UseZGC") == ["-XX:+UseZGC"]


def test_half_of_a_local_heap_is_for_what_is_new_unless_the_user_divides_it() -> None:
    memory = {"spark.driver.memory": "900m"}
    halves = ["-XX:+UseParallelGC", "-Xms900m", "-XX:NewRatio=1"]
    assert java_options("", **memory)[:3] == halves
    for own in ("-Xmn1g", "-Xms1g", "-XX:NewSize=1g", "-XX:InitialHeapSize=1g"):
        assert java_options(own) == ["-XX:+UseParallelGC", own]
    assert "-Xms2g" in java_options("-XX:HeapDumpPath=/dumps")
    assert java_options("", "spark://somewhere:7077") == ["-XX:+UseParallelGC"]


def test_a_cluster_is_not_bound_to_loopback() -> None:
    settings = spark_settings("spark://somewhere:7077", jars=())

    assert "spark.driver.host" not in settings
    assert "spark.driver.bindAddress" not in settings


def test_the_kafka_connector_is_fetched_unless_jars_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fetch(group: str) -> list[Path]:
        return [Path(f"/cache/{group}.jar")]

    monkeypatch.setattr(session_module, "fetch", fetch)

    settings = spark_settings("local[2]")

    assert settings["spark.jars"].startswith("file:///cache/spark-kafka.jar,")
    assert "spark.jars.packages" not in settings


def test_an_unsupported_pyspark_is_refused_before_a_jvm_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.3.0")

    with pytest.raises(MachineError, match="spark-version-unsupported"):
        session("never", jars=())


@pytest.mark.parametrize(
    ("local", "python"), [(True, sys.executable), (False, "/opt/python")]
)
def test_the_environment_is_set_for_the_start_and_then_as_before(
    monkeypatch: pytest.MonkeyPatch, local: bool, python: str
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")

    with session_module._environment(Path("/java"), None, local=local):
        assert os.environ["JAVA_HOME"] == "/java"
        assert os.environ["PYSPARK_PYTHON"] == python

    assert "JAVA_HOME" not in os.environ
    assert os.environ["PYSPARK_PYTHON"] == "/opt/python"


def test_a_session_elsewhere_is_not_taken_for_the_one_asked_for(
    spark: SparkSession,
) -> None:
    with pytest.raises(SettingsError) as caught:
        session("another", master="spark://somewhere:7077", jars=())

    assert caught.value.slug == "session-already-running"
    assert "local[2]" in caught.value.fact


@pytest.mark.parametrize("master", ["", "locale", "local:2", "mesos://m:5050", "yarn:"])
def test_a_master_that_spark_does_not_know_is_refused(master: str) -> None:
    with pytest.raises(SettingsError, match="master-unknown"):
        session("never", master=master, jars=())


@pytest.mark.parametrize(
    "master",
    ["local", "local[*]", "local[4,2]", "spark://a:7077,b:7077", "yarn", "k8s://h:443"],
)
def test_a_master_that_spark_knows_is_taken(master: str) -> None:
    assert spark_settings(master, jars=())


def test_a_jvm_that_does_not_start_is_named() -> None:
    program = """
from headrace import MachineError
from headrace._spark import session

try:
    session("x", jars=(), config={"spark.driver.memory": "none"})
except MachineError as error:
    print(error.slug)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["spark-start-failed"]
    assert "-Xmxnone" in done.stderr


def test_an_ended_session_leaves_no_jvm_behind() -> None:
    program = (
        "from pyspark import SparkContext\n"
        "from headrace._spark import end, session\n"
        "spark = session('ended', master='local[1]')\n"
        "jvm = SparkContext._gateway.proc\n"
        "end(spark)\n"
        "print(jvm.poll())\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.stdout.strip() in {"0", "143"}, done.stderr
