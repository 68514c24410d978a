"""A lock on a checkpoint: two drivers on one would fight over every batch."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from pathlib import Path
from types import TracebackType

from headrace.errors import DeliveryError

_OTHER_FILE_SYSTEM = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:")


def local_path(checkpoint: str) -> Path | None:
    """Give a checkpoint as a directory of this machine; None if it is elsewhere.

    Example:
        >>> local_path("hdfs://nn-1/fraud") is None
        True
    """
    if _OTHER_FILE_SYSTEM.match(checkpoint):
        return None
    return Path(checkpoint.removeprefix("file:")).absolute()


class CheckpointLock:
    """The right to run a query on a checkpoint, held until released.

    The lock ends with its process, however that ends. It lies beside the directory
    and not in it, so it stays when somebody deletes the checkpoint. Where there are
    no locks, on another file system, the brokers' fencing is what decides.

    Args:
        checkpoint: The directory, as Spark is given it.

    Example:
        ``with CheckpointLock("state/fraud"): ...``
    """

    def __init__(self, checkpoint: str) -> None:
        self._checkpoint = checkpoint
        self._file: int | None = None

    def take(self) -> CheckpointLock:
        """Take the lock.

        Raises:
            DeliveryError: [checkpoint-in-use] another driver has it.
        """
        path = local_path(self._checkpoint)
        if path is None:
            return self
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + ".lock")
        file = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(file, 20).decode(errors="replace").strip()
            os.close(file)
            raise DeliveryError(
                "checkpoint-in-use",
                "another driver runs on this checkpoint",
                detail=f"process {holder or 'unknown'} holds its lock.",
                hint="stop that one; or start with take_over, and it will lose its "
                "lanes to this one.",
                where=self._checkpoint,
            ) from error
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        self._file = file
        return self

    def release(self) -> None:
        """Give the lock back; nothing happens if it is not held."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = None

    def __enter__(self) -> CheckpointLock:
        return self.take()

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.release()
