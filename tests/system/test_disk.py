"""A full disk: seen before the start, and named when it strikes in between."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from headrace.artifacts.fetch import Cache
from headrace.artifacts.lock import Artifact
from headrace.errors import MachineError
from headrace.services import Stack
from headrace.services.disk import free_bytes, require_space
from headrace.services.rundir import RunDirectory
from headrace.settings import load_settings
from support.harness.observe import headrace, processes_in

SmallDisk = Callable[[int], Path]


@contextmanager
def mounted(path: Path, mebibytes: int) -> Iterator[Path]:
    path.mkdir()
    size = f"size={mebibytes}m,mode=755"
    mount: list[str | Path] = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", path]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", path], check=True)


@pytest.fixture
def small_disk(open_tmp: Path) -> Iterator[SmallDisk]:
    """Give a way to mount a disk of so many mebibytes; that takes root."""
    with ExitStack() as disks:
        yield lambda size: disks.enter_context(mounted(open_tmp / f"{size}", size))


def fill(directory: Path) -> None:
    """Take up the last byte."""
    handle = os.open(directory / "filler", os.O_WRONLY | os.O_CREAT)
    try:
        for size in (2**16, 2**10, 1):
            try:
                while True:
                    os.write(handle, bytes(size))
            except OSError:
                continue
    finally:
        os.close(handle)


def test_a_disk_without_the_space_is_refused(tmp_path: Path) -> None:
    require_space(tmp_path, free_bytes(tmp_path) // 2)

    with pytest.raises(MachineError) as refused:
        require_space(tmp_path / "not" / "yet" / "there", 2**62)

    assert refused.value.slug == "disk-full"


def test_servers_are_not_started_on_a_disk_that_is_too_small(
    small_disk: SmallDisk,
) -> None:
    run = small_disk(64) / "run"

    done = headrace("up", "redis", "--dir", run)

    assert done.returncode == 1
    assert "[disk-full]" in done.stderr
    assert "MiB free" in done.stderr
    assert processes_in(run) == []


def test_a_file_that_does_not_fit_is_named_and_the_old_one_kept(
    small_disk: SmallDisk,
) -> None:
    disk = small_disk(1)
    directory = RunDirectory(load_settings(), disk / "run")
    directory.create()
    directory.write("redis/redis.conf", "the old one")
    fill(disk)

    for name in ("redis/redis.conf", "postgres/password"):
        with pytest.raises(MachineError) as refused:
            directory.write(name, "x" * 2**16)
        assert refused.value.slug == "disk-full"

    assert (directory.path / "redis" / "redis.conf").read_text() == "the old one"


def test_a_disk_that_fills_up_while_servers_start_is_named(
    small_disk: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = small_disk(8)
    monkeypatch.setattr("headrace.services.stack.require_space", lambda _path: None)
    stack = Stack(disk / "run")
    try:
        with pytest.raises(MachineError) as refused:
            stack.up(["postgres"])
    finally:
        stack.down()

    assert refused.value.slug == "disk-full"
    assert processes_in(disk) == []


def test_a_full_disk_does_not_hinder_stopping(small_disk: SmallDisk) -> None:
    disk = small_disk(300)
    stack = Stack(disk / "run")
    stack.up(["redis"])
    fill(disk)

    assert stack.down() == ["redis"]
    assert processes_in(disk) == []


def test_a_cache_on_a_full_disk_is_named(small_disk: SmallDisk, tmp_path: Path) -> None:
    disk = small_disk(1)
    fill(disk)
    content = bytes(4096)
    wanted = Artifact("org.x:one:1.0", hashlib.sha256(content).hexdigest(), 4096)
    local = tmp_path / "maven" / wanted.path
    local.parent.mkdir(parents=True)
    local.write_bytes(content)
    cache = Cache(load_settings(cache_dir=disk / "cache"), tmp_path / "maven")

    with pytest.raises(MachineError) as refused:
        cache.paths([wanted])

    assert refused.value.slug == "disk-full"
