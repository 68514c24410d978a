"""What a user sees while artifacts are fetched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)


@contextmanager
def fetch_progress(files: int, size: int) -> Iterator[Callable[[int], None]]:
    """Show one bar for all files on stderr; give the function that advances it.

    Where stderr is not a terminal, one line says what is fetched and one that
    it is there, since a moving bar would fill a log with fragments.
    """
    console = Console(stderr=True)
    what = f"{files} file{'s' if files > 1 else ''}"
    if not console.is_terminal:
        console.print(f"fetching {what}, {size / 1e6:.0f} MB")
        yield lambda _size: None
        console.print(f"fetched {what}")
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(f"fetching {what}", total=size)
        yield lambda advance: progress.update(task, advance=advance)
