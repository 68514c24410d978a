"""Directories of files as a sink: those that a manifest names are its rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from headrace.errors import SchemaError
from headrace.schema.origin import declared_at
from headrace.sinks.places import absolute
from headrace.sinks.promises import Servers

FORMATS = ("parquet", "json")


@dataclass(frozen=True)
class FilesSink:
    """A directory to write to; rows are added, and never replaced or removed.

    What it promises is said in the words of `headrace.sinks.promises`. It holds for
    readers by manifest: `headrace.sinks.read_files`.
    """

    path: str
    format: str
    partition_by: tuple[str, ...]
    where: str

    system: ClassVar[str] = "files"
    guarantees: ClassVar[tuple[str, ...]] = ("exactly-once", "at-least-once")
    same_key: ClassVar[str] = "append"
    deletes: ClassVar[str] = "refuse"
    atomic: ClassVar[bool] = True
    takes: ClassVar[str] = "rows"
    artifacts: ClassVar[tuple[str, ...]] = ()
    key: ClassVar[str | None] = None

    @property
    def target(self) -> str:
        """The directory."""
        return f"directory {self.path}"

    def settings(self, _servers: Servers | None) -> dict[str, str]:
        """Say where the files go, and how they are written."""
        return {
            "path": absolute(self.path),
            "format": self.format,
            "partition_by": json.dumps(self.partition_by),
        }


def files(
    path: str, *, format: str = "parquet", partition_by: Sequence[str] = ()
) -> FilesSink:
    """Write to a directory of files.

    Data files get names that no other attempt has. A batch counts when its manifest,
    ``_headrace/<number>.json``, is there and names them; it appears at once.
    `headrace.sinks.read_files` reads by manifest, each batch once. Who reads the
    directory itself may see files of an attempt that failed, until the next start.

    Args:
        path: The directory, local or of any file system that Spark knows.
        format: ``parquet`` or ``json``, a row a line.
        partition_by: The columns by which files lie in directories.

    Raises:
        SchemaError: [format-unknown] files are not written in this format.

    Example:
        ``fraud.write("archive", payments, sinks.files("lake/archive"))``
    """
    where = declared_at()
    if format not in FORMATS:
        raise SchemaError(
            "format-unknown",
            f'files are not written as "{format}"',
            hint=f"choose from {', '.join(FORMATS)}.",
            where=where,
        )
    return FilesSink(path, format, tuple(partition_by), where)
