"""Fetch locked artifacts once, in parallel, and take none with another hash."""

from __future__ import annotations

import hashlib
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from headrace.artifacts.lock import Artifact, locked
from headrace.artifacts.mirrors import remote_repository
from headrace.artifacts.progress import fetch_progress
from headrace.artifacts.storage import cache_errors_named, make_open, scratch
from headrace.errors import FetchError
from headrace.settings import Settings, load_settings

_PARALLEL = 8
_ATTEMPTS = 3
_RETRY_SECONDS = 0.5
_TIMEOUT_SECONDS = 60

Advance = Callable[[int], None]


def fetch(*groups: str, settings: Settings | None = None) -> list[Path]:
    """Give the files of the locked groups, fetching those the cache lacks.

    Example:
        ``fetch("kafka", "connect")`` gives the jars of both servers' class paths.

    Raises:
        FetchError: [download-failed] a file could not be had;
            [hash-mismatch] a file is not the one that was locked.
        MachineError: [cache-not-writable], [disk-full].
    """
    settings = settings or load_settings()
    wanted = [artifact for group in groups for artifact in locked(group)]
    return Cache(settings).paths(wanted)


class Cache:
    """The shared store of fetched files, in Maven's own layout.

    Args:
        settings: Where the cache lies and which mirror to use.
        local_maven: The user's Maven repository, a first place to look.
    """

    def __init__(self, settings: Settings, local_maven: Path | None = None) -> None:
        self.directory = settings.cache_dir
        self._mirror = settings.maven_mirror
        self._local_maven = local_maven or Path.home() / ".m2" / "repository"

    def path(self, artifact: Artifact) -> Path:
        """Give the place of an artifact in the cache, whether it is there or not."""
        return self.directory / "artifacts" / artifact.path

    def paths(self, artifacts: Sequence[Artifact]) -> list[Path]:
        """Give the verified files of the artifacts, in their order."""
        wanted = list(dict.fromkeys(artifacts))
        with cache_errors_named(self.directory):
            # Hashing runs outside Python's lock, so a warm start uses every core.
            with ThreadPoolExecutor(_PARALLEL) as pool:
                present = list(pool.map(self._is_present, wanted))
            missing = [a for a, here in zip(wanted, present, strict=True) if not here]
            if missing:
                self._fetch_all(missing)
        return [self.path(artifact) for artifact in wanted]

    def _is_present(self, artifact: Artifact) -> bool:
        path = self.path(artifact)
        return path.is_file() and matches(path, artifact)

    def _fetch_all(self, missing: Sequence[Artifact]) -> None:
        halt = threading.Event()
        with (
            # Beside the cache, so that a finished file moves in whole.
            scratch(self.directory, "fetching") as staging,
            fetch_progress(len(missing), sum(a.size for a in missing)) as advance,
            ThreadPoolExecutor(_PARALLEL) as pool,
        ):
            # Asked for once, before the threads: a mirror is one decision.
            download = _Download(remote_repository(self._mirror), advance, halt)
            tasks = [
                pool.submit(self._fetch_one, a, download, staging / str(i))
                for i, a in enumerate(missing)
            ]
            try:
                for task in tasks:
                    task.result()
            except BaseException:
                # What still runs would be thrown away, so nobody waits for it.
                halt.set()
                pool.shutdown(cancel_futures=True)
                raise

    def _fetch_one(
        self, artifact: Artifact, download: _Download, staging: Path
    ) -> None:
        local = self._local_maven / artifact.path
        if local.is_file() and matches(local, artifact):
            staging.mkdir()
            fetched = Path(shutil.copy(local, staging))
            download.advance(artifact.size)
        else:
            fetched = download(artifact, staging)
            if not matches(fetched, artifact):
                raise FetchError(
                    "hash-mismatch",
                    f"{artifact.coordinate} is not the file that was locked",
                    detail=f"expected SHA-256 {artifact.sha256},\n"
                    f"received {sha256(fetched)} ({fetched.stat().st_size} bytes).",
                    hint="nothing was kept; try again, and if it stays, check the "
                    "mirror in use.",
                )
        destination = self.path(artifact)
        make_open(destination.parent)
        fetched.chmod(0o644)
        fetched.replace(destination)


def sha256(path: Path) -> str:
    """Give the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def matches(path: Path, artifact: Artifact) -> bool:
    """Tell whether a file is the locked one; its size is looked at first."""
    return path.stat().st_size == artifact.size and sha256(path) == artifact.sha256


@dataclass(frozen=True)
class _Download:
    """How one run of downloads goes: from where, who is told, and when to halt."""

    remote: str
    advance: Advance
    halt: threading.Event

    def __call__(self, artifact: Artifact, staging: Path) -> Path:
        """Have the resolver download an artifact into a directory of its own."""
        import requests  # noqa: PLC0415 - a warm start never needs the network

        problem: Exception
        for attempt in range(_ATTEMPTS):
            counter = _Counter(self.advance, self.halt)
            try:
                return self._attempt(artifact, staging / str(attempt), counter)
            # The resolver says RuntimeError when a repository does not have the file.
            except (requests.RequestException, RuntimeError) as error:
                problem = error
                counter.take_back()
                if attempt + 1 < _ATTEMPTS and self.halt.wait(
                    _RETRY_SECONDS * 2**attempt
                ):
                    break
        raise FetchError(
            "download-failed",
            f"{artifact.coordinate} could not be downloaded",
            detail=f"{_ATTEMPTS} attempts; the last one: {_without_secrets(problem)}",
            hint="check the network; behind a proxy or a mirror, set "
            "HEADRACE_MAVEN_MIRROR or ~/.m2/settings.xml.",
        ) from problem

    def _attempt(self, artifact: Artifact, into: Path, counter: _Counter) -> Path:
        from jgo.maven import MavenContext, PythonResolver  # noqa: PLC0415

        group, name, version, classifier, packaging = artifact.parts
        context = MavenContext(
            resolver=PythonResolver(progress_callback=counter.watch),
            repo_cache=into,
            remote_repos={"remote": self.remote},
            timeout=_TIMEOUT_SECONDS,
        )
        component = context.project(group, name).at_version(version)
        wanted = component.artifact(classifier=classifier, packaging=packaging)
        # The resolver stumbles over an empty checksum beside a file it has; the
        # lock's own hash is what decides.
        with suppress(IndexError):
            context.resolver.download(wanted)
        return into / Path(artifact.path)


class _HaltedError(Exception):
    """The downloads are no longer wanted."""


def _without_secrets(problem: Exception) -> str:
    """Give an error's text without the user and password of a mirror's address."""
    return re.sub(r"//[^/@\s]*@", "//", str(problem))


class _Counter:
    """Counts one download's bytes, so that a failed attempt can be taken back."""

    def __init__(self, advance: Advance, halt: threading.Event) -> None:
        self._advance = advance
        self._halt = halt
        self._bytes = 0

    @contextmanager
    def watch(self, _filename: str, _size: int) -> Iterator[Advance]:
        yield self._count

    def _count(self, size: int) -> None:
        if self._halt.is_set():
            raise _HaltedError
        self._bytes += size
        self._advance(size)

    def take_back(self) -> None:
        self._advance(-self._bytes)
        self._bytes = 0
