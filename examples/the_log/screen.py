"""The picture of a log: where it ends, and how far each reader has come."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from headrace.log import Partition, lag


@dataclass(frozen=True)
class Picture:
    """What the log looked like at one moment."""

    partitions: Sequence[Partition]
    ends: Mapping[int, int]
    committed: Mapping[str, Mapping[int, int]]

    def total_lag(self, group: str) -> int:
        """Give how many events a group has still to read."""
        return sum(lag(self.ends, self.committed[group]).values())


class Screen:
    """Draws pictures in place on a terminal, or as lines into a file or pipe."""

    def __init__(self, title: str) -> None:
        self._title = title
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
        if self._console.is_terminal:
            drawing = Group(self._table(picture), Text(note, style="dim"))
            self._live.update(drawing, refresh=True)
        elif time.monotonic() - self._last_line_at >= 2:
            self._last_line_at = time.monotonic()
            behind = ", ".join(
                f"{group} {picture.total_lag(group)} behind"
                for group in picture.committed
            )
            print(f"{sum(picture.ends.values())} events; {behind}; {note}", flush=True)

    def _table(self, picture: Picture) -> Table:
        table = Table(title=self._title, title_justify="left")
        table.add_column("partition", justify="right")
        table.add_column("leader", justify="right")
        table.add_column("in sync")
        table.add_column("end offset", justify="right", style="bold")
        for group in picture.committed:
            table.add_column(f"{group}\noffset (lag)", justify="right")
        for partition in picture.partitions:
            end = picture.ends[partition.number]
            cells = [
                str(partition.number),
                "none" if partition.leader is None else f"broker {partition.leader}",
                " ".join(map(str, partition.in_sync)),
                str(end),
            ]
            for offsets in picture.committed.values():
                offset = offsets.get(partition.number, 0)
                cells.append(_offset_and_lag(offset, end - offset))
            table.add_row(*cells)
        totals = [str(sum(picture.ends.values()))]
        for group, offsets in picture.committed.items():
            behind = picture.total_lag(group)
            totals.append(_offset_and_lag(sum(offsets.values()), behind))
        table.add_section()
        table.add_row("all", "", "", *totals)
        return table


def _offset_and_lag(offset: int, behind: int) -> str:
    colour = "green" if behind < 500 else "yellow" if behind < 5000 else "red"
    return f"{offset} [{colour}]({max(0, behind)})[/]"
