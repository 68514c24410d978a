"""Unpacking: once, whole or not at all, and open to the servers' account."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Literal

import pytest

from headrace.artifacts.unpack import (
    extract_program,
    extract_tar,
    extract_tar_in_jar,
    extract_tree,
    gather,
    keep,
    unpack,
)
from headrace.errors import FetchError, MachineError

Packing = Literal["w:gz", "w:xz"]


def tar(*members: tuple[str, bytes, int], packing: Packing = "w:gz") -> bytes:
    """Give a tar archive of files: name, content, mode."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=packing) as archive:
        for name, content, mode in members:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), mode
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def jar(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "app-1.0-all.tar.gz"
    path.write_bytes(tar(("app/run", b"#!", 0o700), ("app/notes", b"text", 0o600)))
    return path


def test_a_tar_archive_is_unpacked_under_its_own_name(
    archive: Path, tmp_path: Path
) -> None:
    directory = unpack(archive, extract_tar, tmp_path / "cache")

    assert directory == tmp_path / "cache" / "unpacked" / "app-1.0-all"
    assert (directory / "app" / "notes").read_text() == "text"


def test_an_archive_inside_a_jar_is_unpacked(tmp_path: Path) -> None:
    inner = tar(("bin/postgres", b"program", 0o755), packing="w:xz")
    outer = jar(tmp_path / "postgres.jar", **{"a.txt": b"", "b/postgres.txz": inner})

    directory = unpack(outer, extract_tar_in_jar, tmp_path / "cache")

    assert (directory / "bin" / "postgres").read_bytes() == b"program"


def test_a_program_is_taken_out_of_a_jar_and_can_be_run(tmp_path: Path) -> None:
    programs = {"redis-6-linux-amd64": b"amd", "redis-6-linux-arm64": b"arm"}
    outer = jar(tmp_path / "redis.jar", **programs)

    extract = extract_program("-linux-arm64", "redis-server")
    program = unpack(outer, extract, tmp_path / "cache") / "redis-server"

    assert program.read_bytes() == b"arm"
    assert os.access(program, os.X_OK)


def test_a_jar_without_this_machines_program_is_refused(tmp_path: Path) -> None:
    outer = jar(tmp_path / "redis.jar", **{"redis-6-darwin": b"mac"})

    with pytest.raises(FetchError) as refused:
        unpack(outer, extract_program("-linux-amd64", "redis"), tmp_path / "cache")

    assert refused.value.slug == "artifact-incomplete"
    assert not list((tmp_path / "cache" / "unpacked").iterdir())


def test_a_program_is_taken_out_of_a_jar_with_what_lies_beside_it(
    tmp_path: Path,
) -> None:
    members = {
        "org/db-1.0/linux/bin/db": b"program",
        "org/db-1.0/linux/bin/other": b"another",
        "org/db-1.0/linux/share/en/words": b"words",
        "org/db-1.0/linux/shared": b"no directory",
        "org/db-1.0/linux/share/../../../up": b"astray",
    }
    archive = jar(tmp_path / "db-1.0.jar", **members)

    directory = unpack(archive, extract_tree("bin/db", "share"), tmp_path / "cache")

    files = {f.relative_to(directory) for f in directory.rglob("*") if f.is_file()}
    assert files == {Path("bin/db"), Path("share/en/words")}
    assert os.access(directory / "bin/db", os.X_OK)


def test_a_jar_without_the_program_of_a_tree_is_refused(tmp_path: Path) -> None:
    archive = jar(tmp_path / "db-1.0.jar", **{"share/words": b"words"})

    with pytest.raises(FetchError, match="artifact-incomplete"):
        unpack(archive, extract_tree("bin/db", "share"), tmp_path / "cache")


def test_groups_of_files_are_gathered_apart_and_once(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.jar", "b.jar")]
    for file in files:
        file.write_text(file.name)

    both = gather({"one": files, "two": files[:1]}, tmp_path / "cache")
    again = gather({"one": files, "two": files[:1]}, tmp_path / "cache")
    fewer = gather({"one": files[:1]}, tmp_path / "cache")

    assert again == both != fewer
    assert {f.relative_to(both): f.read_text() for f in both.rglob("*.jar")} == {
        Path("one/a.jar"): "a.jar",
        Path("one/b.jar"): "b.jar",
        Path("two/a.jar"): "a.jar",
    }


def test_a_kept_file_can_be_read_by_others_and_is_named_by_its_content(
    tmp_path: Path,
) -> None:
    file = tmp_path / "own.jar"
    file.write_text("one")
    file.chmod(0o600)

    kept = keep(file, tmp_path / "cache")
    again = keep(file, tmp_path / "cache")
    file.write_text("two")
    other = keep(file, tmp_path / "cache")

    assert kept == again != other
    assert (kept.read_text(), other.read_text()) == ("one", "two")
    assert kept.stat().st_mode & 0o777 == 0o644


def test_an_archive_is_unpacked_once(archive: Path, tmp_path: Path) -> None:
    first = unpack(archive, extract_tar, tmp_path / "cache")
    (first / "mark").touch()

    second = unpack(archive, extract_tar, tmp_path / "cache")

    assert (second / "mark").exists()


def test_an_unpacking_that_fails_leaves_nothing_that_looks_finished(
    archive: Path, tmp_path: Path
) -> None:
    archive.write_bytes(archive.read_bytes()[:-20])

    with pytest.raises((EOFError, tarfile.TarError)):
        unpack(archive, extract_tar, tmp_path / "cache")

    assert not list((tmp_path / "cache" / "unpacked").iterdir())


def test_the_faster_of_two_unpackings_wins(archive: Path, tmp_path: Path) -> None:
    def extract_while_another_does(source: Path, into: Path) -> None:
        extract_tar(source, into)
        (into / "slower").touch()
        unpack(archive, extract_tar, tmp_path / "cache")

    directory = unpack(archive, extract_while_another_does, tmp_path / "cache")

    assert (directory / "app" / "run").exists()
    assert not (directory / "slower").exists()
    assert [p.name for p in directory.parent.iterdir()] == ["app-1.0-all"]


@pytest.mark.parametrize("name", ["../../escaped", "/escaped", "a/../../escaped"])
def test_a_member_that_leaves_the_directory_is_refused(
    tmp_path: Path, name: str
) -> None:
    archive = tmp_path / "evil.tar.gz"
    archive.write_bytes(tar((name, b"x", 0o644)))

    with pytest.raises(tarfile.TarError, match="leads out of the archive"):
        unpack(archive, extract_tar, tmp_path / "cache")

    assert not list(tmp_path.rglob("escaped"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_a_link_out_of_the_directory_is_refused(tmp_path: Path, kind: bytes) -> None:
    archive = tmp_path / "evil.tar.gz"
    with tarfile.open(archive, "w:gz") as evil:
        link = tarfile.TarInfo("app/escape")
        link.type, link.linkname = kind, "../../outside"
        evil.addfile(link)

    with pytest.raises(tarfile.TarError, match="leads out of the archive"):
        unpack(archive, extract_tar, tmp_path / "cache")


def test_unpacked_files_are_open_to_others_under_a_tight_umask(
    archive: Path, tmp_path: Path
) -> None:
    before = os.umask(0o077)
    try:
        directory = unpack(archive, extract_tar, tmp_path / "cache")
    finally:
        os.umask(before)

    def mode(path: Path) -> int:
        return path.stat().st_mode & 0o777

    assert mode(directory / "app" / "run") == 0o755
    assert mode(directory / "app" / "notes") == 0o644
    parents = (directory / "app" / "run").parents
    ours = [p for p in parents if p.is_relative_to(tmp_path / "cache")]
    assert [mode(parent) for parent in ours] == [0o755] * 4


def test_what_a_killed_unpacking_left_is_removed_by_the_next(
    archive: Path, tmp_path: Path
) -> None:
    left = tmp_path / "cache" / "unpacked" / "unpacking-left" / "content"
    left.mkdir(parents=True)

    directory = unpack(archive, extract_tar, tmp_path / "cache")

    assert [p.name for p in directory.parent.iterdir()] == ["app-1.0-all"]


def test_a_cache_that_cannot_be_written_is_said_so(
    archive: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(MachineError) as refused:
        unpack(archive, extract_tar, tmp_path / "file" / "cache")

    assert refused.value.slug == "cache-not-writable"
