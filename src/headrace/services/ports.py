"""Ports: the user's fixed ones, the same as last time, or free ones."""

from __future__ import annotations

import random
import socket
from collections.abc import Container, Sequence

from headrace.errors import ServiceError

LOOPBACK = "127.0.0.1"

FREE_RANGE = range(20000, 30000)
"""Below the ports that systems hand to outgoing connections, which come and go."""


def is_free(port: int) -> bool:
    """Tell whether a server could listen on a loopback port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: a port in its closing time is free for a new server.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def choose_port(
    last: int | None, seed: str, taken: Container[int], among: Sequence[int]
) -> int:
    """Give last time's port if it is still free, otherwise another free one.

    Args:
        last: The port of the last run, so that addresses stay what they were.
        seed: Whose port it is; each starts looking at a place of its own.
        taken: Ports that are promised to others but not yet listened on.
        among: The ports that the server can use.

    Raises:
        ServiceError: [no-free-port] every port of the range is in use.
    """
    if last is not None and last not in taken and is_free(last):
        return last
    candidates = list(among)
    random.Random(seed).shuffle(candidates)  # noqa: S311 - spreading, not a secret
    for port in candidates:
        if port not in taken and is_free(port):
            return port
    raise ServiceError(
        "no-free-port",
        f"no port from {min(candidates)} to {max(candidates)} is free",
        hint="stop what listens there (`ss -ltnp` shows it).",
    )


def require_free(port: int, name: str) -> None:
    """Refuse a port that somebody else listens on.

    Raises:
        ServiceError: [port-taken] another program uses it.
    """
    if not is_free(port):
        raise ServiceError(
            "port-taken",
            f"port {port}, set for {name}, is in use",
            detail="another program listens there, perhaps another headrace.",
            hint=f'stop it, or change [ports] "{name}" in the settings; without the '
            "setting a free port is chosen.",
        )
