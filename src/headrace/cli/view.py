"""Commands for views: serve, list, get, scan, watch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.address import Bootstrap, find_log, read_pairs
from headrace.cli.ending import ENDING
from headrace.cli.load import load_pipeline
from headrace.cli.output import Format, print_json, print_table, talk
from headrace.cli.services import Directory
from headrace.errors import ViewError
from headrace.services import Stack
from headrace.services.addresses import Addresses
from headrace.settings import load_settings
from headrace.views import AsOf, Standing, ViewClient
from headrace.views.answers import moment_text
from headrace.views.keeping import Surroundings, keeping, serving_at

if TYPE_CHECKING:
    from headrace.views.client import Key

app = typer.Typer(help="The views of running pipelines.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="VIEW", help="Such as velocity.")]
Keys = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY]...", help="The key, or COLUMN=VALUE of its columns."),
]
Url = Annotated[
    str | None, typer.Option(metavar="URL", help="The server; by default the one here.")
]
PipelineName = Annotated[
    str | None, typer.Option("--pipeline", help="Where two have views of the name.")
]
Batch = Annotated[int | None, typer.Option("--as-of-batch", help="As of a batch.")]
Time = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="Such as 2026-01-31T12:00:00Z."),
]
Shown = Annotated[Format, typer.Option("--format", help="How to print the data.")]


@app.command()
def serve(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Such as fraud.py.")],
    port: Annotated[int, typer.Option(help="The port; 0 for a free one.")] = 0,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    store: Annotated[
        Path | None, typer.Option(metavar="DIRECTORY", help="Where rows are kept.")
    ] = None,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
) -> None:
    """Follow the views of a pipeline, and answer for them until stopped."""
    pipeline = load_pipeline(file)
    log = find_log(bootstrap, directory)
    enough = Event()
    settings = load_settings()
    around = Surroundings(
        store or _home() / pipeline.name,
        log.bootstrap,
        Addresses(settings, Stack(directory, settings)),
        host,
        port,
    )
    tell = talk().print
    with keeping(pipeline, around, tell) as server:
        tell(f'views of pipeline "{pipeline.name}" at {server.url}', highlight=False)
        ENDING.after("ending; the views are answered for no longer", enough.set)
        enough.wait()


@app.command("list")
def list_views(url: Url = None, output: Shown = Format.TABLE) -> None:
    """List the views that are served here."""
    found = []
    for address in [url] if url else serving_here().values():
        with ViewClient(address) as client:
            found += [told | {"url": address} for told in client.views()]
    if output is Format.JSON:
        print_json(found)
        return
    rows = [
        [told["view"], told["pipeline"], ", ".join(told["key"]), told["url"]]
        for told in found
    ]
    print_table(["view", "pipeline", "key", "url"], rows)


@app.command()
def get(
    view: Name,
    key: Keys = None,
    as_of_batch: Batch = None,
    as_of: Time = None,
    url: Url = None,
    pipeline: PipelineName = None,
) -> None:
    """Print the row of a key as JSON; status 1 if there is none."""
    with _client(view, url, pipeline) as client:
        asked = _key(key or (), client, view)
        answer = client.get(view, asked, as_of=_as_of(as_of_batch, as_of))
    tell_standing(answer.standing)
    typer.echo(json.dumps(answer.row))
    if answer.row is None:
        raise typer.Exit(1)


@app.command()
def scan(
    view: Name,
    key: Keys = None,
    limit: Annotated[int, typer.Option(help="How many rows at the most.")] = 100,
    as_of_batch: Batch = None,
    as_of: Time = None,
    cursor: Annotated[str | None, typer.Option(help="That of the page before.")] = None,
    url: Url = None,
    pipeline: PipelineName = None,
) -> None:
    """Print rows in the order of their keys, each as a line of JSON."""
    with _client(view, url, pipeline) as client:
        asked = _key(key, client, view) if key else ""
        when = _as_of(as_of_batch, as_of)
        page = client.scan(view, asked, limit=limit, as_of=when, cursor=cursor)
    for _key_text, row in page.rows:
        typer.echo(json.dumps(row))
    tell_standing(page.standing)
    if page.cursor is not None:
        talk().print(f"more: --cursor {page.cursor}", highlight=False)


@app.command()
def watch(
    view: Name,
    after: Annotated[str | None, typer.Option(help="The id of the last event.")] = None,
    rows: Annotated[bool, typer.Option("--rows", help="Begin with the rows.")] = False,
    url: Url = None,
    pipeline: PipelineName = None,
) -> None:
    """Print each change as a line of JSON, until stopped."""
    with _client(view, url, pipeline) as client:
        for update in client.watch(view, after=after, with_rows=rows):
            told: dict[str, Any] = {
                "op": update.op,
                "key": update.key,
                "row": update.row,
                "batch": update.standing.batch,
                "id": update.id,
            }
            typer.echo(json.dumps(told))


def _home() -> Path:
    return load_settings().state_dir / "views"


def serving_here() -> dict[str, str]:
    """Give the addresses of the servers of this account, by their pipelines."""
    return serving_at(_home())


def _client(view: str, url: str | None, pipeline: str | None) -> ViewClient:
    """Give a client of the server that has a view.

    Raises:
        ViewError: [view-unreachable] no server runs here; [view-ambiguous] two have
            a view of the name; [view-unknown] none has.
    """
    if url is not None:
        return ViewClient(url)
    servers = serving_here()
    if pipeline is not None:
        servers = {name: at for name, at in servers.items() if name == pipeline}
    if not servers:
        raise ViewError(
            "view-unreachable",
            "no server of views runs here",
            hint="start one with `headrace view serve FILE`, or name one with --url.",
            where=str(_home()),
        )
    having = {}
    for name, at in servers.items():
        with ViewClient(at) as client:
            if any(told["view"] == view for told in client.views()):
                having[name] = at
    if len(having) > 1:
        raise ViewError(
            "view-ambiguous",
            f'{len(having)} pipelines have a view "{view}"',
            hint=f"name one with --pipeline: {', '.join(having)}.",
        )
    # A server that does not have it says which ones it has.
    return ViewClient(next(iter((having or servers).values())))


def _key(given: Sequence[str], client: ViewClient, view: str) -> Key:
    """Read a key: as one text, or as the values of its columns."""
    columns = {told["view"]: told["key"] for told in client.views()}.get(view, [])
    if given and all(text.partition("=")[0] in columns for text in given):
        return dict(read_pairs(given, "KEY"))
    if len(given) != 1:
        raise typer.BadParameter("give the key as one text, or as COLUMN=VALUE")
    return given[0]


def _as_of(batch: int | None, time: str | None) -> AsOf:
    if batch is not None and time is not None:
        raise typer.BadParameter("--as-of and --as-of-batch exclude each other")
    if time is None:
        return AsOf(batch=batch)
    try:
        return AsOf(time=datetime.fromisoformat(time))
    except ValueError as error:
        raise typer.BadParameter(f'"{time}" is no time') from error


def tell_standing(stands: Standing, of: str = "") -> None:
    """Tell a person which batch an answer reflects."""
    written = "" if stands.at is None else f", written {moment_text(stands.at)}"
    later = "" if stands.is_exact else ", or in part the next"
    talk().print(f"{of}as of batch {stands.batch}{later}{written}", highlight=False)
