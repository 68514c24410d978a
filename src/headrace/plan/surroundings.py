"""What a plan has to know of where it will run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.sinks import Servers


@dataclass(frozen=True)
class Surroundings:
    """Where a query goes on from, and whom its steps may ask.

    Args:
        checkpoint: Where it keeps its state; None if it has none to go on from.
        servers: Where the servers of remote tables are.
    """

    checkpoint: str | None = None
    servers: Servers | None = None
