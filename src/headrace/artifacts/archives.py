"""Class-data archives: what a JVM has parsed and verified, mapped by the next one.

Most of a JVM's start is reading classes: Spark's first query needs some fifteen
thousand. Java can keep them in a file, as they are in memory, and map that file when
it starts. A list of the classes that a program has needed is part of this package
(`scripts/list_classes.py` writes it), so making an archive runs nothing of the program.

An archive is never needed. It is made once for each cache, beside what it will serve,
and one that is absent, of another Java or of other jars is not used.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headrace.artifacts.java import Java
from headrace.artifacts.storage import locked, make_open, scratch

_LISTS = Path(__file__).with_name("classes")
_KEPT = 12
"""Archives that are left when a new one comes: each environment has its own."""

# What reads half a gigabyte of jars once needs neither much heap nor good code.
_MAKING = ("-Xshare:dump", "-XX:TieredStopAtLevel=1", "-Xmx768m")
_MAKING_SECONDS = 600
_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")


@dataclass(frozen=True)
class ClassArchive:
    """The archive of one program's classes, for one Java and one class path.

    It serves every JVM whose class path begins with this one.

    Args:
        name: The program, which names the list of its classes.
        java: The Java that makes and maps it.
        class_path: The jars; directories cannot be archived.
        cache_dir: The cache that keeps it.

    Example:
        ``ClassArchive("spark", find_java(), jars, settings.cache_dir).options()``
    """

    name: str
    java: Java
    class_path: tuple[Path, ...]
    cache_dir: Path

    @property
    def path(self) -> Path | None:
        """Where it is kept; None where it has not been made, or is not to be used.

        Java looks at an archive's first bytes only: one that was cut short, by a
        power cut for example, would end the JVM. So its name says how long it is. And
        it is code: it has to be of this account or of root, and of no one else.
        """
        for found in self.directory.glob(f"{self._stem}-*.jsa"):
            with suppress(OSError):
                about = found.stat()
                is_whole = found.stem.endswith(f"-{about.st_size}")
                is_ours = about.st_uid in {0, os.geteuid()}
                others = about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
                if is_whole and is_ours and not others:
                    return found
        return None

    @property
    def directory(self) -> Path:
        """Where all archives of the cache are kept."""
        return self.cache_dir / "class-archives"

    @property
    def _stem(self) -> str:
        return f"{self.name}-{self._key}"

    @property
    def _key(self) -> str:
        """What it depends on: the list, the Java, and each jar as Java checks it."""
        key = hashlib.sha256(self._list.read_bytes())
        for file in (self.java.home / "release", *self.class_path):
            about = file.stat() if file.exists() else None
            seen = (about.st_size, about.st_mtime_ns) if about else ()
            key.update(repr((str(file), seen)).encode())
        return key.hexdigest()[:16]

    @property
    def _list(self) -> Path:
        return _LISTS / f"{self.name}.txt"

    def options(self, *, make: bool = True) -> list[str]:
        """Return the JVM's options that map it; none while it is not there.

        Args:
            make: Whether to begin making it in the background where it is missing.
        """
        if path := self.path:
            return [f"-XX:SharedArchiveFile={path}"]
        if make and all(jar.is_file() for jar in self.class_path):
            self.make_behind()
        return []

    def make(self) -> bool:
        """Make it, unless it is there; return whether it is there now.

        A Java that cannot archive, a full disk or a cache that cannot be written
        leave no archive and no error: programs start without it.
        """
        with suppress(OSError, subprocess.SubprocessError):
            if self.path is None and self._list.is_file():
                make_open(self.directory)
                self._make()
        return self.path is not None

    def _make(self) -> None:
        with scratch(self.directory, "making") as aside:
            made = aside / "made.jsa"
            command = self._command(made)
            subprocess.run(
                command, check=True, capture_output=True, timeout=_MAKING_SECONDS
            )
            # The servers' account maps it too.
            made.chmod(0o644)
            self._tidy()
            made.replace(self.directory / f"{self._stem}-{made.stat().st_size}.jsa")

    def make_behind(self) -> None:
        """Make it in a process of its own, which no one waits for."""
        command = [sys.executable, "-m", "headrace.artifacts.archives", self.name]
        places = map(str, (self.java.home, self.java.major, self.cache_dir))
        jars = map(str, self.class_path)
        with suppress(OSError):
            # A shell that ends at once: nobody has to wait for what it leaves behind,
            # and in a session of its own that outlives the command, Ctrl-C included.
            subprocess.run(
                ["/bin/sh", "-c", '"$@" &', "sh", *command, *places, *jars],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                check=False,
            )

    def _command(self, made: Path) -> list[str]:
        return [
            str(self.java.executable),
            *_MAKING,
            *_QUIET,
            f"-XX:SharedClassListFile={self._list}",
            f"-XX:SharedArchiveFile={made}",
            "-cp",
            os.pathsep.join(map(str, self.class_path)),
        ]

    def _tidy(self) -> None:
        """Remove the oldest archives: each is for an environment, which may be gone."""
        kept = sorted(
            self.directory.glob("*-*.jsa"), key=lambda path: path.stat().st_mtime
        )
        for path in kept[: max(0, len(kept) - _KEPT + 1)]:
            path.unlink(missing_ok=True)


def main(arguments: Sequence[str]) -> None:
    """Make one archive, as `make_behind` names it, with what time others leave."""
    name, home, major, cache_dir, *jars = arguments
    os.nice(10)
    with suppress(OSError):
        # Linux shares its processors between sessions first, by this number.
        Path("/proc/self/autogroup").write_text("10")
    java = Java(Path(home), int(major))
    archive = ClassArchive(name, java, tuple(map(Path, jars)), Path(cache_dir))
    behind = archive.directory / "behind"
    make_open(behind)
    # Where another process makes one already, the next start will see to this one.
    with locked(behind, wait=False) as is_alone:
        if is_alone:
            archive.make()


if __name__ == "__main__":
    main(sys.argv[1:])
