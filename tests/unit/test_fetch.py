"""Fetching: from a real HTTP server on loopback, into a cache of its own."""

from __future__ import annotations

import gc
import hashlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import requests  # noqa: F401 - loaded before a test gives up its rights

from headrace.artifacts.fetch import Cache
from headrace.artifacts.lock import Artifact
from headrace.errors import FetchError, MachineError
from headrace.settings import Settings, load_settings
from support.fakes.maven_repository import Repository, serving
from support.harness.rights import without_rights

# The resolver leaves the socket of an answer it does not like to the collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

ONE = b"the first file"
TWO = b"the second file, a little longer"


def artifact(coordinate: str, content: bytes) -> Artifact:
    return Artifact(coordinate, hashlib.sha256(content).hexdigest(), len(content))


FIRST = artifact("org.x:one:1.0", ONE)
SECOND = artifact("org.x:two:2.0:all@tar.gz", TWO)


@pytest.fixture
def maven() -> Iterator[Repository]:
    with serving() as repository:
        yield repository


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a user without a Maven repository, and retries that do not wait."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("HEADRACE_MAVEN_MIRROR", raising=False)
    monkeypatch.setattr(sys.modules[Cache.__module__], "_RETRY_SECONDS", 0)
    monkeypatch.setenv("HOME", str(tmp_path))
    yield tmp_path
    gc.collect()


@pytest.fixture
def settings(maven: Repository, tmp_path: Path) -> Settings:
    return load_settings(cache_dir=tmp_path / "cache", maven_mirror=maven.url)


def kept(settings: Settings) -> list[str]:
    """Give the names of all files that a cache holds."""
    return sorted(p.name for p in settings.cache_dir.rglob("*") if p.is_file())


def test_a_file_with_the_locked_hash_is_kept(
    maven: Repository, settings: Settings
) -> None:
    maven.offer(FIRST, ONE)

    (path,) = Cache(settings).paths([FIRST])

    assert path.read_bytes() == ONE
    assert kept(settings) == ["one-1.0.jar"]


def test_files_come_in_the_order_they_were_asked_for(
    maven: Repository, settings: Settings
) -> None:
    maven.offer(FIRST, ONE)
    maven.offer(SECOND, TWO)

    paths = Cache(settings).paths([SECOND, FIRST, SECOND])

    assert [path.name for path in paths] == ["two-2.0-all.tar.gz", "one-1.0.jar"]


def test_only_what_is_asked_for_is_fetched(
    maven: Repository, settings: Settings
) -> None:
    maven.offer(FIRST, ONE)
    maven.offer(SECOND, TWO)

    Cache(settings).paths([FIRST])

    assert maven.asked_for == ["/maven/org/x/one/1.0/one-1.0.jar"]


def test_a_file_is_fetched_once(maven: Repository, settings: Settings) -> None:
    maven.offer(FIRST, ONE)
    Cache(settings).paths([FIRST])
    asked = list(maven.asked)

    Cache(settings).paths([FIRST])

    assert maven.asked == asked


@pytest.mark.parametrize("wrong", [b"x" * len(ONE), ONE + b"!", b""])
def test_wrong_bytes_are_refused_and_not_kept(
    wrong: bytes, maven: Repository, settings: Settings
) -> None:
    maven.offer(FIRST, wrong)

    with pytest.raises(FetchError) as refused:
        Cache(settings).paths([FIRST])

    assert refused.value.slug == "hash-mismatch"
    assert FIRST.sha256 in (refused.value.detail or "")
    assert kept(settings) == []


def test_a_cut_off_body_is_a_failed_download(
    maven: Repository, settings: Settings
) -> None:
    maven.offer(FIRST, ONE)
    maven.cut_at = 5

    with pytest.raises(FetchError) as refused:
        Cache(settings).paths([FIRST])

    assert refused.value.slug == "download-failed"
    assert kept(settings) == []
    assert len(maven.asked_for) == 3


def test_a_file_the_mirror_lacks_is_a_failed_download(settings: Settings) -> None:
    with pytest.raises(FetchError) as refused:
        Cache(settings).paths([FIRST])

    assert refused.value.slug == "download-failed"
    assert "org.x:one:1.0" in refused.value.fact
    assert kept(settings) == []


def test_a_mirror_that_does_not_answer_is_a_failed_download(tmp_path: Path) -> None:
    settings = load_settings(
        cache_dir=tmp_path / "cache", maven_mirror="http://127.0.0.1:1/maven"
    )

    with pytest.raises(FetchError) as refused:
        Cache(settings).paths([FIRST])

    assert refused.value.slug == "download-failed"


def test_a_download_is_tried_again(maven: Repository, settings: Settings) -> None:
    maven.offer(FIRST, ONE)
    maven.refuse_first = 2

    (path,) = Cache(settings).paths([FIRST])

    assert path.read_bytes() == ONE


@pytest.mark.parametrize("checksum", [b"", b"0" * 40])
def test_the_mirrors_own_checksum_decides_nothing(
    checksum: bytes, maven: Repository, settings: Settings
) -> None:
    maven.offer(FIRST, ONE)
    maven.files[f"/maven/{FIRST.path}.sha1"] = checksum

    (path,) = Cache(settings).paths([FIRST])

    assert path.read_bytes() == ONE


@pytest.mark.parametrize("damage", [b"", b"X" + ONE[1:]])
def test_a_damaged_file_in_the_cache_is_fetched_anew(
    damage: bytes, maven: Repository, settings: Settings
) -> None:
    maven.offer(FIRST, ONE)
    cache = Cache(settings)
    cache.path(FIRST).parent.mkdir(parents=True)
    cache.path(FIRST).write_bytes(damage)

    (path,) = cache.paths([FIRST])

    assert path.read_bytes() == ONE


def test_the_local_maven_repository_is_looked_at_first(
    maven: Repository, settings: Settings, home: Path
) -> None:
    local = home / ".m2" / "repository" / FIRST.path
    local.parent.mkdir(parents=True)
    local.write_bytes(ONE)

    (path,) = Cache(settings).paths([FIRST])

    assert path.read_bytes() == ONE
    assert local.read_bytes() == ONE
    assert maven.asked == []


def test_a_wrong_file_in_the_local_maven_repository_is_not_taken(
    maven: Repository, settings: Settings, home: Path
) -> None:
    maven.offer(FIRST, ONE)
    local = home / ".m2" / "repository" / FIRST.path
    local.parent.mkdir(parents=True)
    local.write_bytes(b"X" * len(ONE))

    (path,) = Cache(settings).paths([FIRST])

    assert path.read_bytes() == ONE


def test_the_mirror_of_the_users_maven_settings_is_asked(
    maven: Repository, home: Path
) -> None:
    maven.offer(FIRST, ONE)
    (home / ".m2").mkdir()
    (home / ".m2" / "settings.xml").write_text(
        "<settings><mirrors><mirror><mirrorOf>*</mirrorOf>"
        f"<url>{maven.url}</url></mirror></mirrors></settings>"
    )

    (path,) = Cache(load_settings(cache_dir=home / "cache")).paths([FIRST])

    assert path.read_bytes() == ONE
    assert maven.asked_for == [f"/maven/{FIRST.path}"]


def test_a_cache_that_cannot_be_written_is_said_so(
    maven: Repository, settings: Settings, open_tmp: Path
) -> None:
    maven.offer(FIRST, ONE)
    closed = open_tmp / "closed"
    closed.mkdir(mode=0o555)
    cache = Cache(settings.model_copy(update={"cache_dir": closed / "cache"}))

    with without_rights(), pytest.raises(MachineError) as refused:
        cache.paths([FIRST])

    assert refused.value.slug == "cache-not-writable"
    assert refused.value.where == str(closed / "cache")


def test_a_cache_that_cannot_be_read_is_said_so(
    maven: Repository, settings: Settings, open_tmp: Path
) -> None:
    maven.offer(FIRST, ONE)
    cache = Cache(settings.model_copy(update={"cache_dir": open_tmp / "cache"}))
    cache.paths([FIRST])
    cache.directory.chmod(0o000)

    with without_rights(), pytest.raises(MachineError) as refused:
        cache.paths([FIRST])
    cache.directory.chmod(0o755)

    assert refused.value.slug == "cache-not-writable"


def test_a_cache_below_a_file_is_said_so(
    maven: Repository, settings: Settings, tmp_path: Path
) -> None:
    maven.offer(FIRST, ONE)
    (tmp_path / "file").touch()
    below = tmp_path / "file" / "cache"

    with pytest.raises(MachineError) as refused:
        Cache(settings.model_copy(update={"cache_dir": below})).paths([FIRST])

    assert refused.value.slug == "cache-not-writable"


def test_the_cache_is_open_to_the_servers_account_under_a_tight_umask(
    maven: Repository, settings: Settings
) -> None:
    maven.offer(FIRST, ONE)
    before = os.umask(0o077)
    try:
        (path,) = Cache(settings).paths([FIRST])
    finally:
        os.umask(before)

    assert path.stat().st_mode & 0o777 == 0o644
    for directory in (d for d in path.parents if d.is_relative_to(settings.cache_dir)):
        assert directory.stat().st_mode & 0o777 == 0o755, directory


def test_an_interrupted_fetch_does_not_wait_for_its_downloads(
    maven: Repository, settings: Settings
) -> None:
    piece = bytes(2**14)
    slow = artifact("org.x:slow:1.0", piece * 100)
    maven.offer(slow, b"")
    interrupted, released = threading.Event(), threading.Event()

    def interrupt_and_drip(write: Callable[[bytes], object]) -> None:
        # A download that is tried again must not interrupt the next test.
        if not interrupted.is_set():
            interrupted.set()
            os.kill(os.getpid(), signal.SIGINT)
        with suppress(ConnectionError):
            for _ in range(100):
                write(piece)
                if released.wait(0.1):
                    return
            maven.finished = True

    maven.send, maven.length = interrupt_and_drip, slow.size
    try:
        with pytest.raises(KeyboardInterrupt):
            Cache(settings).paths([slow])
        assert not maven.finished
    finally:
        released.set()

    assert kept(settings) == []


def test_what_a_killed_fetch_left_is_removed_by_the_next(
    maven: Repository, settings: Settings
) -> None:
    maven.offer(FIRST, ONE)
    left = settings.cache_dir / "fetching-left" / "0"
    left.mkdir(parents=True)
    (left / "half.jar").touch()

    Cache(settings).paths([FIRST])

    assert kept(settings) == ["one-1.0.jar"]


def test_two_fetches_at_once_leave_each_other_alone(
    maven: Repository, settings: Settings
) -> None:
    maven.offer(FIRST, ONE)
    maven.offer(SECOND, TWO)

    def fetch_the_other(write: Callable[[bytes], object]) -> None:
        maven.send = None
        Cache(settings).paths([SECOND])
        write(ONE)

    maven.send = fetch_the_other
    (path,) = Cache(settings).paths([FIRST])

    assert path.read_bytes() == ONE
    assert kept(settings) == ["one-1.0.jar", "two-2.0-all.tar.gz"]
