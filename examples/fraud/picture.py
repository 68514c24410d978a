"""What a run looks like: rates, lag, event time, state, and the alerts as they come."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

LINES_APART_SECONDS = 3.0


@dataclass(frozen=True)
class Picture:
    """A run at one moment."""

    sent: int
    batch: Mapping[str, Any]
    starts: int
    alerts: int
    late: int
    delays: Sequence[float]
    latest: Sequence[Mapping[str, Any]]
    quality: str

    def facts(self) -> dict[str, str]:
        """Give what is shown, by name."""
        batch = self.batch
        state = batch.get("state", {}).values()
        rows = sum(step["rows"] for step in state)
        kept = sum(step["memory_bytes"] + step["disk_bytes"] for step in state)
        recent = sorted(self.delays[-200:])
        half = f"{recent[len(recent) // 2]:.1f} s" if recent else "-"
        behind = batch.get("watermark_lag")
        return {
            "sent": f"{self.sent:,}",
            "worked through": f"{batch.get('events_per_second', 0):,.0f}/s "
            f"in batch {batch.get('batch', '-')}",
            "lag": f"{batch.get('lag', 0):,}",
            "event time": "-" if behind is None else f"{behind:.1f} s behind the clock",
            "state": f"{rows:,} rows, {kept / 2**20:.0f} MB",
            "late": f"{self.late:,}",
            "alerts": f"{self.alerts:,}, half of them within {half}",
            "found": self.quality,
            "starts": f"{self.starts}",
        }


class Screen:
    """Draws pictures in place on a terminal, or as lines into a file or pipe."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._addresses = addresses
        self._console = Console()
        self._live = Live(console=self._console, auto_refresh=False)
        self._last_line_at = 0.0

    def __enter__(self) -> Screen:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def show(self, picture: Picture, note: str) -> None:
        """Draw one picture, with a note below it."""
        facts = picture.facts()
        if self._console.is_terminal:
            self._live.update(self._drawing(picture, facts, note), refresh=True)
        elif time.monotonic() - self._last_line_at >= LINES_APART_SECONDS:
            self._last_line_at = time.monotonic()
            shown = ("sent", "lag", "event time", "alerts", "found")
            told = "; ".join(f"{name} {facts[name]}" for name in shown)
            print(f"{told}; {note}", flush=True)

    def _drawing(self, picture: Picture, facts: Mapping[str, str], note: str) -> Group:
        numbers = Table(show_header=False, box=None)
        for name, value in facts.items():
            numbers.add_row(Text(name, style="dim"), value)
        alerts = Table("made at", "card", "reason", "score", "cents", "country")
        for told in reversed(picture.latest):
            alerts.add_row(
                told["made_at"][11:19],
                told["card"],
                told["reason"],
                f"{told['score']:.3f}",
                f"{told['cents']:,}",
                told["country"],
            )
        places = "   ".join(f"{name} {at}" for name, at in self._addresses.items())
        below = Text(f"{note}\n{places}", style="dim")
        return Group(Panel(numbers, title="fraud", title_align="left"), alerts, below)
