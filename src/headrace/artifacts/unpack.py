"""Unpack fetched archives once, beside the cache they came from."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from headrace.artifacts.storage import cache_errors_named, scratch
from headrace.errors import FetchError

Extract = Callable[[Path, Path], None]


def unpack(archive: Path, extract: Extract, cache_dir: Path) -> Path:
    """Give the directory with an archive's content, unpacking it the first time."""
    destination = cache_dir / "unpacked" / archive.name.partition(".tar")[0]
    return _filled(destination, lambda into: extract(archive, into), cache_dir)


def gather(groups: Mapping[str, Sequence[Path]], cache_dir: Path) -> Path:
    """Give a directory with a directory of links for each of some groups of files.

    So Connect finds connectors, each apart from the others.
    """
    named = "\n".join(f"{group} {file}" for group in groups for file in groups[group])
    mark = hashlib.sha256(named.encode()).hexdigest()[:16]

    def link(into: Path) -> None:
        for group, files in groups.items():
            (into / group).mkdir()
            for file in files:
                (into / group / file.name).symlink_to(file)

    return _filled(cache_dir / "gathered" / mark, link, cache_dir)


def keep(file: Path, cache_dir: Path) -> Path:
    """Give a copy of a file of ours that the servers' account can read.

    It is named by its content, so a server that runs is not given another one.
    """
    mark = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    kept = cache_dir / "kept" / mark
    _filled(kept, lambda into: _copy(file, into / file.name), cache_dir)
    return kept / file.name


def _copy(file: Path, copy: Path) -> None:
    copy.write_bytes(file.read_bytes())


def _filled(destination: Path, fill: Callable[[Path], None], cache_dir: Path) -> Path:
    """Fill a directory once.

    It appears whole or not at all: it is filled under another name and then renamed,
    so a crash in between leaves nothing that looks finished.
    """
    if destination.is_dir():
        return destination
    with (
        cache_errors_named(cache_dir),
        scratch(destination.parent, "unpacking") as directory,
    ):
        content = directory / "content"
        content.mkdir()
        fill(content)
        _open_for_reading(content)
        try:
            content.rename(destination)
        except OSError:
            # Another process was faster; its copy is as good as ours.
            if not destination.is_dir():
                raise
    return destination


def _open_for_reading(directory: Path) -> None:
    """Let the servers' account read what root may have unpacked under a tight umask."""
    for root, _directories, files in os.walk(directory):
        Path(root).chmod(0o755)
        for name in files:
            file = Path(root, name)
            if not file.is_symlink():
                file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)


def extract_tar(archive: Path, into: Path) -> None:
    """Extract a tar archive; members that would leave the directory are refused."""
    with archive.open("rb") as file:
        _extract_tar_stream(file, into)


def extract_tar_in_jar(archive: Path, into: Path) -> None:
    """Extract the one ``.txz`` archive that a jar carries."""
    with zipfile.ZipFile(archive) as jar:
        name = next(n for n in jar.namelist() if n.endswith(".txz"))
        with jar.open(name) as member:
            _extract_tar_stream(member, into)


def _extract_tar_stream(stream: IO[bytes], into: Path) -> None:
    with tarfile.open(fileobj=stream) as tar:
        # Python has this filter since 3.11.4, and Debian 12 comes with 3.11.2.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(into, members=_harmless(tar, into.resolve()))  # noqa: S202


def _harmless(tar: tarfile.TarFile, into: Path) -> Iterator[tarfile.TarInfo]:
    """Give the members as ours, unless one would leave the directory."""
    for member in tar:
        place = into / member.name
        places = [place]
        if member.issym():
            places.append(place.parent / member.linkname)
        elif member.islnk():
            places.append(into / member.linkname)
        is_known = member.isreg() or member.isdir() or member.issym() or member.islnk()
        if not is_known or not all(p.resolve().is_relative_to(into) for p in places):
            raise tarfile.ExtractError(f"{member.name!r} leads out of the archive")
        member.uid, member.gid = os.getuid(), os.getgid()
        member.uname = member.gname = ""
        member.mode &= 0o755
        yield member


def extract_program(suffix: str, name: str) -> Extract:
    """Give a function that takes one program out of a jar, found by its suffix."""

    def extract(archive: Path, into: Path) -> None:
        with zipfile.ZipFile(archive) as jar:
            members = [m for m in jar.namelist() if m.endswith(suffix)]
            if not members:
                raise FetchError(
                    "artifact-incomplete",
                    f"{archive.name} has no program for {suffix.lstrip('-')}",
                )
            target = into / name
            with jar.open(members[0]) as source, target.open("wb") as program:
                shutil.copyfileobj(source, program)
            target.chmod(0o755)

    return extract


def extract_tree(program: str, *beside: str) -> Extract:
    """Give a function that takes a program out of a jar, and directories beside it.

    Args:
        program: The program's path below a directory that the jar may call anything.
        beside: Directories below the same one, such as ``share``.
    """

    def extract(archive: Path, into: Path) -> None:
        with zipfile.ZipFile(archive) as jar:
            files = [n for n in jar.namelist() if not n.endswith("/")]
            found = next((n for n in files if n.endswith(f"/{program}")), None)
            if found is None:
                raise FetchError(
                    "artifact-incomplete", f"{archive.name} has no program {program}"
                )
            root = found.removesuffix(program)
            kept = (found, *(f"{root}{directory}/" for directory in beside))
            for name in files:
                if name.startswith(kept) and ".." not in PurePosixPath(name).parts:
                    target = into / name.removeprefix(root)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with jar.open(name) as source, target.open("wb") as file:
                        shutil.copyfileobj(source, file)
        (into / program).chmod(0o755)

    return extract
