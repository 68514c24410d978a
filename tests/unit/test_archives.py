"""Which archive of classes a JVM maps: its own, made by us, or none."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.artifacts import ClassArchive, Java, archives


@pytest.fixture
def archive(tmp_path: Path) -> ClassArchive:
    """Return an archive of one jar, which has not been made."""
    home = tmp_path / "java"
    home.mkdir()
    (home / "release").write_text('JAVA_VERSION="17.0.1"\n')
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"classes")
    return ClassArchive("spark", Java(home, 17), (jar,), tmp_path / "cache")


@pytest.fixture
def made(archive: ClassArchive) -> Path:
    """Return the file of the archive, made by a Java that writes a line."""
    program = archive.java.executable
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\nfor o; do case $o in -XX:SharedArchiveFile=*) echo >"${o#*=}";; '
        "esac; done\n"
    )
    program.chmod(0o755)
    assert archive.make()
    assert archive.path
    return archive.path


def _noting(begun: list[ClassArchive]) -> Callable[[ClassArchive], None]:
    # A function, so that it is called with the archive as a method is.
    def note(archive: ClassArchive) -> None:
        begun.append(archive)

    return note


def test_an_archive_that_is_there_is_mapped(archive: ClassArchive, made: Path) -> None:
    assert archive.options() == [f"-XX:SharedArchiveFile={made}"]


def test_one_that_is_not_there_is_begun_and_not_waited_for(
    archive: ClassArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[ClassArchive] = []
    monkeypatch.setattr(ClassArchive, "make_behind", _noting(begun))

    assert archive.options(make=False) == []
    assert begun == []
    assert archive.options() == []
    assert begun == [archive]


def test_one_whose_jars_are_not_there_is_not_begun(
    archive: ClassArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[ClassArchive] = []
    monkeypatch.setattr(ClassArchive, "make_behind", _noting(begun))
    archive.class_path[0].unlink()

    assert archive.options() == []
    assert begun == []


def test_another_java_another_jar_or_the_same_jar_changed_is_another_archive(
    archive: ClassArchive, made: Path
) -> None:
    jar = archive.class_path[0]
    other = replace(archive, class_path=(jar, jar.with_name("b.jar")))
    assert other.path is None

    before = jar.stat()
    os.utime(jar, ns=(1, 1))
    assert archive.path is None
    os.utime(jar, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert archive.path == made

    (archive.java.home / "release").write_text('JAVA_VERSION="17.0.10"\n')
    assert archive.path is None


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_one_that_others_could_have_written_is_not_mapped(
    archive: ClassArchive, made: Path, mode: int
) -> None:
    made.chmod(mode)

    assert archive.path is None


def test_one_that_was_cut_short_is_not_mapped_and_made_again(
    archive: ClassArchive, made: Path
) -> None:
    made.write_bytes(b"")

    assert archive.path is None
    assert archive.make()


def test_a_java_that_cannot_make_one_leaves_none_and_says_nothing(
    archive: ClassArchive, capfd: pytest.CaptureFixture[str]
) -> None:
    program = archive.java.executable
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho no archives here >&2\nexit 1\n")
    program.chmod(0o755)

    assert not archive.make()
    assert archive.options(make=False) == []
    assert capfd.readouterr() == ("", "")


def test_of_many_archives_the_oldest_goes(archive: ClassArchive, made: Path) -> None:
    old = [made.with_name(f"spark-{n}-0.jsa") for n in range(20)]
    for number, path in enumerate(old):
        path.touch()
        os.utime(path, (number, number))
    made.unlink()

    assert archive.make()

    left = set(made.parent.glob("*.jsa"))
    assert archive.path in left
    assert old[-1] in left
    assert old[0] not in left
    assert len(left) == 12


@pytest.mark.parametrize("name", ["spark", "kafka", "connect"])
def test_a_list_holds_nothing_that_ends_a_jvm_with_a_profiler(name: str) -> None:
    lines = (archives._LISTS / f"{name}.txt").read_text().splitlines()

    assert len(lines) > 5_000
    # Java 17 crashes where it maps the classes of these and an agent looks on.
    assert not [line for line in lines if line.startswith("@lambda-form-invoker")]
    # Ours stand behind the archived part of a class path.
    assert not [line for line in lines if "io/headrace/" in line]
