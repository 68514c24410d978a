"""Directories that we fill: open to the servers, filled aside, errors named."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import MachineError

_FULL = {errno.ENOSPC, errno.EDQUOT}
_NOT_WRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}


def make_open(directory: Path) -> None:
    """Make a directory and its parents, open to others whatever the umask says.

    Under root the servers run as another account, which must get there.
    """
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        path.chmod(0o755)


@contextmanager
def scratch(parent: Path, prefix: str) -> Iterator[Path]:
    """Give a directory to fill beside its destination; it is gone afterwards.

    A killed process cannot tidy up, so whoever comes next does: a directory that
    nobody has locked is nobody's.
    """
    make_open(parent)
    with contextlib.ExitStack() as stack:
        with locked(parent):
            for left in parent.glob(f"{prefix}-*"):
                _remove_unless_used(left)
            path = stack.enter_context(
                tempfile.TemporaryDirectory(prefix=f"{prefix}-", dir=parent)
            )
            stack.enter_context(locked(Path(path)))
        yield Path(path)


@contextmanager
def locked(directory: Path, *, wait: bool = True) -> Iterator[bool]:
    """Lock a directory, and tell whether that worked: not every file system can."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        locked = True
    except OSError:
        locked = False
    try:
        yield locked
    finally:
        os.close(handle)


def _remove_unless_used(directory: Path) -> None:
    with contextlib.suppress(OSError), locked(directory, wait=False) as unused:
        if unused:
            shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def cache_errors_named(cache_dir: Path) -> Iterator[None]:
    """Name the errors of a cache that cannot be used.

    Raises:
        MachineError: [cache-not-writable], [disk-full].
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise disk_error(error, cache_dir) from error
        raise MachineError(
            "cache-not-writable",
            "the cache directory cannot be written",
            detail=str(error),
            hint="make it writable, or set HEADRACE_CACHE_DIR to another one.",
            where=str(cache_dir),
        ) from error


def disk_error(error: OSError, directory: Path) -> OSError | MachineError:
    """Name the error if the disk is full; other errors stay what they are."""
    if error.errno not in _FULL:
        return error
    return MachineError(
        "disk-full",
        "there is no space left on the disk",
        detail=str(error),
        hint="free some space, or choose a directory on another disk.",
        where=str(directory),
    )
