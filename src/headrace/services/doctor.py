"""Examine a machine before anything starts on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from headrace.artifacts import find_java, locked, platform_tag
from headrace.artifacts.fetch import Cache
from headrace.errors import HeadraceError, MachineError
from headrace.services.account import service_account
from headrace.services.catalog import with_needs
from headrace.services.disk import NEEDED_BYTES, free_bytes, require_space
from headrace.services.ports import require_free
from headrace.services.rundir import RunDirectory
from headrace.services.stack import Stack
from headrace.settings import Settings

_MEMORY_NEEDED = 2 * 2**30


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `remedy` says how to mend it."""

    what: str
    well: bool
    found: str
    remedy: str | None = None


def examine(settings: Settings, directory: Path | None = None) -> list[Finding]:
    """Look at everything `headrace up` relies on, and change nothing."""
    looks: list[tuple[str, Callable[[], str]]] = [
        ("python", lambda: sys.version.split()[0]),
        ("platform", platform_tag),
        ("java", lambda: _java(settings)),
        ("account", lambda: _account(settings)),
        ("cache", lambda: _writable(settings.cache_dir, settings)),
        ("run directory", lambda: _run_directory(settings, directory)),
        ("disk", lambda: _disk(settings, directory)),
        ("memory", _memory),
        ("fixed ports", lambda: _fixed_ports(settings, directory)),
        ("artifacts", lambda: _artifacts(settings)),
    ]
    return [_look(what, look) for what, look in looks]


def _look(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, look())
    except HeadraceError as error:
        found = f"{error.fact} ({error.where})" if error.where else error.fact
        return Finding(what, False, found, error.hint)


def _java(settings: Settings) -> str:
    java = find_java(settings)
    return f"{java.major} in {java.home}"


def _account(settings: Settings) -> str:
    account = service_account(settings)
    return "your own" if account.uid is None else f'"{settings.service_user}" for root'


def _writable(path: Path, settings: Settings, *, closed: bool = False) -> str:
    service_account(settings).require_reach(path.parent if closed else path)
    existing = path
    while not existing.exists():
        existing = existing.parent
    if not os.access(existing, os.W_OK):
        raise MachineError(
            "cache-not-writable",
            "it cannot be written",
            hint="make it writable, or set HEADRACE_CACHE_DIR or HEADRACE_STATE_DIR.",
            where=str(existing),
        )
    return str(path)


def _run_directory(settings: Settings, directory: Path | None) -> str:
    path = RunDirectory(settings, directory).path
    # It is closed to others, since it belongs to the servers' account.
    return _writable(path, settings, closed=True)


def _disk(settings: Settings, directory: Path | None) -> str:
    path = RunDirectory(settings, directory).path
    require_space(path, 2 * NEEDED_BYTES)
    return f"{free_bytes(path) / 2**30:.1f} GiB free"


def _memory() -> str:
    free = psutil.virtual_memory().available
    if free < _MEMORY_NEEDED:
        raise MachineError(
            "memory-short",
            f"{free / 2**30:.1f} GiB free, all servers together want 2 GiB",
            hint="start only the services you need, such as `headrace up kafka`.",
        )
    return f"{free / 2**30:.1f} GiB free"


def _fixed_ports(settings: Settings, directory: Path | None) -> str:
    ours = {p.port for p in Stack(directory, settings).status() if p.pid is not None}
    for name, port in settings.ports.items():
        if port not in ours:
            require_free(port, name)
    return ", ".join(f"{n}={p}" for n, p in settings.ports.items()) or "none are set"


def _artifacts(settings: Settings) -> str:
    cache = Cache(settings)
    wanted = {
        artifact
        for service in with_needs(())
        for group in service.artifacts()
        for artifact in locked(group)
    }
    missing = [artifact for artifact in wanted if not cache.path(artifact).is_file()]
    if not missing:
        return f"all {len(wanted)} are in the cache"
    size = sum(artifact.size for artifact in missing) / 1e6
    return f"{len(missing)} of {len(wanted)} will be fetched ({size:.0f} MB)"
