"""JVMs that map an archive of classes, and JVMs that find it spoilt."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from headrace._spark import operators_jar, spark_settings
from headrace._spark.jvm import MODULE_OPTIONS, needs_submit, spark_home
from headrace.artifacts import ClassArchive, archives, fetch, find_java

CLASS = "org.apache.commons.pool2.BaseObject"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClassArchive:
    """Make the archive of one class of one jar."""
    (tmp_path / "small.txt").write_text(
        f"java/lang/Object\n{CLASS.replace('.', '/')}\n"
    )
    monkeypatch.setattr(archives, "_LISTS", tmp_path)
    [jar] = [path for path in fetch("spark-kafka") if "pool2" in path.name]
    made = ClassArchive("small", find_java(), (jar,), tmp_path / "cache")
    assert made.make()
    return made


def loading(archive: ClassArchive, *options: str) -> subprocess.CompletedProcess[str]:
    """Start a JVM that loads the class, which is no program."""
    given = [*archive.options(make=False), *options]
    jars = os.pathsep.join(map(str, archive.class_path))
    return subprocess.run(
        [str(archive.java.executable), *given, "-cp", jars, CLASS],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_class_comes_from_the_archive(archive: ClassArchive) -> None:
    assert archive.options(make=False)

    told = loading(archive, "-Xlog:class+load").stdout.splitlines()

    [line] = [line for line in told if f" {CLASS} " in line]
    assert line.endswith("source: shared objects file")


@pytest.mark.parametrize("spoilt", ["garbage", "another class path", "gone"])
def test_a_jvm_that_cannot_use_the_archive_starts_without_a_word(
    archive: ClassArchive, spoilt: str
) -> None:
    wanted = loading(archive).stderr
    path = archive.path
    assert path
    if spoilt == "garbage":
        path.write_bytes(os.urandom(path.stat().st_size))
    if spoilt == "another class path":
        archive = replace(archive, class_path=(operators_jar(), *archive.class_path))
    if spoilt == "gone":
        path.unlink()

    ended = loading(archive, f"-XX:SharedArchiveFile={path}")

    assert CLASS in wanted
    assert (ended.stdout, ended.stderr) == ("", wanted)


def test_the_options_of_a_local_jvm_are_those_of_sparks_own_start() -> None:
    launcher = subprocess.run(
        [
            *(str(find_java().executable), "-cp", f"{spark_home()}/jars/*"),
            *("org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit"),
            *("--class", "Any", "any.jar"),
        ],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "SPARK_HOME": str(spark_home()),
            "SPARK_SCALA_VERSION": "2.13",
        },
    ).stdout
    words = [word.strip() for word in launcher.split("\0")]
    first = words.index(MODULE_OPTIONS[0])
    end = words.index("org.apache.spark.deploy.SparkSubmit")

    wanted = set(words[first:end]) - {"--add-modules=jdk.incubator.vector"}
    assert set(MODULE_OPTIONS) == wanted


def test_spark_starts_by_itself_where_the_user_has_set_it_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As a session sets it, which a process may have had before.
    monkeypatch.setenv("SPARK_BUFFER_SIZE", "65536")

    assert not needs_submit({"spark.driver.memory": "1g"})
    assert needs_submit({"spark.jars.packages": "a:b:1"})
    assert needs_submit({"spark.driver.extraClassPath": "/classes"})
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    assert needs_submit({})


def test_a_session_works_as_well_by_sparks_own_start() -> None:
    program = (
        "from headrace._spark import end, session\n"
        "spark = session('own', master='local[1]')\n"
        "print(spark.range(3).count(), spark.conf.get('spark.jars') != '')\n"
        "end(spark)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SPARK_SUBMIT_OPTS": "-Dmine=1"},
        timeout=120,
    )

    assert done.stdout.split() == ["3", "True"], done.stderr


def test_no_setting_of_a_session_is_seen_in_the_list_of_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = spark_settings("local[2]", config={"spark.mine": "canary"})
    assert settings["spark.mine"] == "canary"
    program = (
        "import psutil\n"
        "from headrace._spark import end, session\n"
        "spark = session('seen', master='local[1]', config={'spark.mine': 'canary'})\n"
        "[jvm] = [p for p in psutil.Process().children() if 'java' in p.name()]\n"
        "print(spark.conf.get('spark.mine'), 'canary' in ' '.join(jvm.cmdline()))\n"
        "end(spark)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.stdout.split() == ["canary", "False"], done.stderr
    # Nothing of the JVM's own is printed at a start.
    assert done.stderr == ""
