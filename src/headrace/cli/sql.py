"""The command that asks views and Delta tables in SQL."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.address import read_pairs
from headrace.cli.output import Format, print_table
from headrace.cli.view import Url, serving_here, tell_standing
from headrace.views import ViewClient


def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="In DuckDB's SQL.")],
    delta: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PATH", help="A Delta table, and its name here."),
    ] = None,
    url: Url = None,
    output: Annotated[
        Format, typer.Option("--format", help="json: a line a row.")
    ] = Format.TABLE,
) -> None:
    """Ask the views that are served here, and Delta tables, in SQL."""
    # DuckDB's own room: nothing else waits for it.
    from headrace.views.querying import query as ask  # noqa: PLC0415

    places = {name: Path(place) for name, place in read_pairs(delta, "--delta")}
    with ExitStack() as opened:
        clients: dict[str, ViewClient] = {}
        for address in [url] if url else serving_here().values():
            client = opened.enter_context(ViewClient(address))
            for told in client.views():
                clients.setdefault(told["view"], client)
        result = ask(query, clients, places)
    for view, stands in result.standings.items():
        tell_standing(stands, f"{view} ")
    if output is Format.JSON:
        for row in result.rows:
            told = dict(zip(result.columns, row, strict=True))
            typer.echo(json.dumps(told, default=str))
        return
    shown = [["" if v is None else str(v) for v in row] for row in result.rows]
    print_table(result.columns, shown)
