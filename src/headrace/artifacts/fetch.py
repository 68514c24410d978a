"""Fetch locked artifacts once, in parallel, and take none with another hash."""

from __future__ import annotations

import errno
import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from headrace.artifacts.lock import Artifact, locked
from headrace.artifacts.mirrors import remote_repository
from headrace.artifacts.progress import fetch_progress
from headrace.errors import FetchError, MachineError
from headrace.settings import Settings, load_settings

_PARALLEL = 8
_ATTEMPTS = 3
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
        # Hashing runs outside Python's lock, so a warm start uses every core.
        with ThreadPoolExecutor(_PARALLEL) as pool:
            present = pool.map(self._is_present, wanted)
            missing = [a for a, here in zip(wanted, present, strict=True) if not here]
        if missing:
            self._fetch_all(missing)
        return [self.path(artifact) for artifact in wanted]

    def _is_present(self, artifact: Artifact) -> bool:
        path = self.path(artifact)
        return path.is_file() and matches(path, artifact)

    def _fetch_all(self, missing: Sequence[Artifact]) -> None:
        with (
            self._staging() as staging,
            fetch_progress(len(missing), sum(a.size for a in missing)) as advance,
            ThreadPoolExecutor(_PARALLEL) as pool,
        ):
            # Asked for once, before the threads: a mirror is one decision.
            remote = remote_repository(self._mirror)
            tasks = [
                pool.submit(self._fetch_one, a, remote, staging / str(i), advance)
                for i, a in enumerate(missing)
            ]
            try:
                for task in tasks:
                    task.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _fetch_one(
        self, artifact: Artifact, remote: str, staging: Path, advance: Advance
    ) -> None:
        local = self._local_maven / artifact.path
        if local.is_file() and matches(local, artifact):
            staging.mkdir()
            fetched = Path(shutil.copy(local, staging))
            advance(artifact.size)
        else:
            fetched = _download(artifact, remote, staging, advance)
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
        destination.parent.mkdir(parents=True, exist_ok=True)
        fetched.chmod(0o644)
        fetched.replace(destination)

    @contextmanager
    def _staging(self) -> Iterator[Path]:
        """Give a directory beside the cache, so that a finished file moves in whole."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(
                prefix="fetching-", dir=self.directory
            ) as name:
                yield Path(name)
        except PermissionError as error:
            raise MachineError(
                "cache-not-writable",
                "the cache directory cannot be written",
                detail=str(error),
                hint="make it writable, or set HEADRACE_CACHE_DIR to another one.",
                where=str(self.directory),
            ) from error
        except OSError as error:
            raise disk_error(error, self.directory) from error


def sha256(path: Path) -> str:
    """Give the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def matches(path: Path, artifact: Artifact) -> bool:
    """Tell whether a file is the locked one; its size is looked at first."""
    return path.stat().st_size == artifact.size and sha256(path) == artifact.sha256


def disk_error(error: OSError, directory: Path) -> OSError | MachineError:
    """Name the error if the disk is full; other errors stay what they are."""
    if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
        return error
    return MachineError(
        "disk-full",
        "there is no space left on the disk",
        detail=str(error),
        hint="free some space, or choose a directory on another disk.",
        where=str(directory),
    )


def _download(artifact: Artifact, remote: str, staging: Path, advance: Advance) -> Path:
    """Have the resolver download one artifact into a directory of its own."""
    import requests  # noqa: PLC0415 - a warm start never needs the network
    from jgo.maven import MavenContext, PythonResolver  # noqa: PLC0415

    group, name, version, classifier, packaging = artifact.parts
    problem: Exception
    for attempt in range(_ATTEMPTS):
        count = _Counter(advance)
        context = MavenContext(
            resolver=PythonResolver(progress_callback=count.watch),
            repo_cache=staging / str(attempt),
            remote_repos={"remote": remote},
            timeout=_TIMEOUT_SECONDS,
        )
        component = context.project(group, name).at_version(version)
        wanted = component.artifact(classifier=classifier, packaging=packaging)
        try:
            context.resolver.download(wanted)
            return context.repo_cache / Path(artifact.path)
        # The resolver says RuntimeError when a repository does not have the file.
        except (requests.RequestException, RuntimeError) as error:
            problem = error
            count.take_back()
            if attempt + 1 < _ATTEMPTS:
                time.sleep(0.5 * 2**attempt)
    raise FetchError(
        "download-failed",
        f"{artifact.coordinate} could not be downloaded",
        detail=f"{_ATTEMPTS} attempts; the last one: {problem}",
        hint="check the network; behind a proxy or a mirror, set "
        "HEADRACE_MAVEN_MIRROR or ~/.m2/settings.xml.",
    ) from problem


class _Counter:
    """Counts one download's bytes, so that a failed attempt can be taken back."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._bytes = 0

    @contextmanager
    def watch(self, _filename: str, _size: int) -> Iterator[Advance]:
        yield self._count

    def _count(self, size: int) -> None:
        self._bytes += size
        self._advance(size)

    def take_back(self) -> None:
        self._advance(-self._bytes)
        self._bytes = 0
