"""Commands for operations: alert rules, and what is wrong with a topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.address import Bootstrap, Registry, find_log, read_pairs
from headrace.cli.monitoring import Alert
from headrace.cli.output import Format, print_json, print_table, talk
from headrace.cli.services import Directory, Output
from headrace.ops.prometheus import rules_file
from headrace.ops.rules import RULES, tuned

if TYPE_CHECKING:
    from headrace.log import Reading, SchemaBook

app = typer.Typer(help="Look after running pipelines.", no_args_is_help=True)

Topic = Annotated[str, typer.Argument(help="The topic to read.")]
By = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="What the id is; by default the key."),
]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="PLACE",
        help="earliest, offset:42 or time:2026-11-15T10:00:00Z.",
    ),
]


@app.command()
def rules(
    pipeline: Annotated[
        str | None, typer.Option(help="For this pipeline; by default for all.")
    ] = None,
    alert: Alert = None,
) -> None:
    """Print the alert rules as a rules file of Prometheus."""
    chosen = tuned(RULES, read_pairs(alert, "--alert"))
    typer.echo(rules_file(chosen, pipeline), nl=False)


@app.command()
def duplicates(
    topic: Topic,
    by: By = None,
    place: From = "earliest",
    registry: Registry = None,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Output = Format.TABLE,
) -> None:
    """Count the ids that a topic holds more than once; status 1 if there are any."""
    from headrace.ops.duplicates import count_duplicates  # noqa: PLC0415

    reading, book = _read(topic, place, registry, bootstrap, directory)
    found = count_duplicates(reading, by, book=book)
    if output is Format.JSON:
        print_json(asdict(found))
    else:
        _print_examples(found.examples)
        _tell(
            f"{found.records:,} record(s), {found.ids:,} id(s); {found.repeated:,} of "
            f"them more than once, {found.surplus:,} record(s) too many"
            + _missing(found.without_id, "an id")
        )
    if found.repeated:
        raise typer.Exit(1)


@app.command()
def order(
    topic: Topic,
    by: By = None,
    time: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The time; by default the record's own."),
    ] = None,
    place: From = "earliest",
    registry: Registry = None,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Output = Format.TABLE,
) -> None:
    """Tell how far records are in order of time; status 1 if those of an id are not."""
    from headrace.ops.order import look_at_order  # noqa: PLC0415

    reading, book = _read(topic, place, registry, bootstrap, directory)
    found = look_at_order(reading, by, time, book=book)
    if output is Format.JSON:
        print_json(asdict(found))
    else:
        _print_examples(found.examples)
        _tell(f"{found.records:,} record(s)" + _missing(found.without, "id or time"))
        _tell(f"behind another of their partition: {found.behind_in_partition:,}")
        far = f", by {found.furthest_ms / 1000:,.3f} s at the most"
        within = f"{found.behind_in_id:,}" + (far if found.behind_in_id else "")
        _tell(f"behind another of their id: {within}")
        _tell(f"ids in several partitions: {found.scattered:,}")
    if found.behind_in_id or found.scattered:
        raise typer.Exit(1)


def _read(
    topic: str,
    place: str,
    registry: str | None,
    bootstrap: str | None,
    directory: Path | None,
) -> tuple[Reading, SchemaBook | None]:
    from headrace.log import (  # noqa: PLC0415 - loads librdkafka
        Reading,
        SchemaBook,
        Span,
        parse_place,
    )

    span = Span(place=parse_place(place))
    address = find_log(bootstrap, directory)
    schemas = registry or address.registry
    reading = Reading(address.admin(), address.bootstrap, topic, span, _tell)
    return reading, None if schemas is None else SchemaBook(schemas)


def _print_examples(examples: Mapping[str, Sequence[str]]) -> None:
    rows = [
        (name, str(len(places)), " ".join(places[:10]))
        for name, places in examples.items()
    ]
    if rows:
        print_table(("id", "records", "places"), rows)


def _missing(count: int, what: str) -> str:
    return f"; {count:,} without {what}" if count else ""


def _tell(news: str) -> None:
    talk().print(news, highlight=False, markup=False)
