"""Read the log of a Delta table: which files hold its rows now.

Only what ``sinks.delta`` and plain Delta tables use is read. A table that needs more
is refused, as its rows would be misread.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from headrace.errors import ViewError
from headrace.views.deletion_vectors import deleted_rows, vector_id

_COMMIT = re.compile(r"([0-9]{20})\.json")
_KNOWN_FEATURES = {"timestampNtz", "deletionVectors", "vacuumProtocolCheck"}

ReadParquet = Callable[[Iterable[Path]], Iterable[Mapping[str, Any]]]
"""Gives the actions that the files of a checkpoint hold."""


@dataclass
class DeltaFiles:
    """The rows of a Delta table at a version.

    Attributes:
        version: The last commit.
        schema: The columns, as Spark's JSON.
        partitioned_by: The columns that are in no file, but in the log.
        files: Each file with the values of those columns, by its path and its
            deletion vector.
        vectors: The deletion vectors of files, as the log describes them.
        deleted: The numbers of the rows of files that are deleted.
    """

    version: int = -1
    schema: dict[str, Any] = field(default_factory=dict)
    partitioned_by: list[str] = field(default_factory=list)
    files: dict[tuple[Path, str], dict[str, str | None]] = field(default_factory=dict)
    vectors: dict[tuple[Path, str], Any] = field(default_factory=dict)
    deleted: dict[Path, list[int]] = field(default_factory=dict)


def read_log(place: Path, read_parquet: ReadParquet) -> DeltaFiles:
    """Give the files of a Delta table, as of its last commit.

    Args:
        place: The table's directory.
        read_parquet: Reads a checkpoint of the log.

    Raises:
        ViewError: [delta-unreadable] there is no table, or one that needs more than
            is read here.
    """
    log = place / "_delta_log"
    if not log.is_dir():
        raise _unreadable(place, "there is no _delta_log in it.")
    found = DeltaFiles()
    last = log / "_last_checkpoint"
    if last.is_file():
        told = json.loads(last.read_text())
        if "v2Checkpoint" in told:
            raise _unreadable(place, "its checkpoints are of the second form.")
        version = int(told["version"])
        parts = sorted(log.glob(f"{version:020}.checkpoint*.parquet"))
        for action in read_parquet(parts):
            _take(found, action, place)
        found.version = version
    for commit in sorted(log.glob("*.json")):
        number = _COMMIT.fullmatch(commit.name)
        if number is None or int(number[1]) <= found.version:
            continue
        for line in commit.read_text().splitlines():
            _take(found, json.loads(line), place)
        found.version = int(number[1])
    if not found.schema:
        raise _unreadable(place, "its log does not tell its columns.")
    _read_vectors(found, place)
    return found


def _read_vectors(found: DeltaFiles, place: Path) -> None:
    """Find out which rows of the files are deleted."""
    for file in found.files:
        vector = found.vectors[file]
        if not vector:
            continue
        try:
            found.deleted[file[0]] = deleted_rows(vector, place)
        except (OSError, ValueError, struct.error) as error:
            raise _unreadable(place, f"a deletion vector: {error}.") from error


def _take(found: DeltaFiles, action: Mapping[str, Any], place: Path) -> None:
    protocol, meta = action.get("protocol"), action.get("metaData")
    added, removed = action.get("add"), action.get("remove")
    if protocol:
        _require_readable(protocol, place)
    if meta:
        configured = dict(meta.get("configuration") or {})
        if configured.get("delta.columnMapping.mode", "none") != "none":
            raise _unreadable(place, "its columns have other names in the files.")
        found.schema = json.loads(meta["schemaString"])
        found.partitioned_by = list(meta.get("partitionColumns") or ())
    if added:
        found.files[_file(place, added)] = dict(added.get("partitionValues") or {})
        found.vectors[_file(place, added)] = added.get("deletionVector")
    if removed:
        found.files.pop(_file(place, removed), None)


def _require_readable(protocol: Mapping[str, Any], place: Path) -> None:
    features = set(protocol.get("readerFeatures") or ()) - _KNOWN_FEATURES
    if features:
        raise _unreadable(place, f"it needs {', '.join(sorted(features))}.")


def _file(place: Path, told: Mapping[str, Any]) -> tuple[Path, str]:
    """Name a file: within a commit one may be removed and added with another vector."""
    path = unquote(told["path"]).removeprefix("file:")
    return place / path, vector_id(told.get("deletionVector"))


def _unreadable(place: Path, why: str) -> ViewError:
    return ViewError(
        "delta-unreadable",
        f"the Delta table at {place} cannot be read here",
        detail=why,
        hint="read it with Spark: spark.read.format('delta').load(...).",
    )
