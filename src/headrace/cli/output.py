"""Where words and data go: talk to stderr, data to stdout."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import typer
from rich.console import Console


class Format(StrEnum):
    """How data is printed."""

    TABLE = "table"
    JSON = "json"


def talk() -> Console:
    """Give the console for people; NO_COLOR is honoured."""
    return Console(stderr=True, soft_wrap=True)


def print_json(data: Any) -> None:
    """Print data for programs."""
    typer.echo(json.dumps(data, indent=2))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print data for people; values are never cut or wrapped, so they can be copied."""
    table = [columns, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    for number, row in enumerate(table):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        typer.secho("  ".join(cells).rstrip(), bold=number == 0)
