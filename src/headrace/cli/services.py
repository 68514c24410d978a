"""Commands for the servers: up, down, status, logs."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.ending import ENDING
from headrace.cli.output import Format, print_json, print_table, talk
from headrace.errors import ServiceError
from headrace.services import SERVICES, ProcessStatus, Stack
from headrace.settings import load_settings

Directory = Annotated[
    Path | None,
    typer.Option("--dir", help="The run directory; by default the project's own."),
]
Output = Annotated[Format, typer.Option("--format", help="How to print the data.")]

_UP_ENDED = "ended; what was started goes on, and `headrace down` stops it"
# A database whose making is cut short is made again, but whole ones are better.
_UP_GRACE_SECONDS = 60.0


def _stack(directory: Path | None) -> Stack:
    return Stack(directory, load_settings())


def _tell(service: str, news: str) -> None:
    talk().print(f"{service:<11} {news}", highlight=False)


def up(
    services: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SERVICE]...", help=f"From: {', '.join(SERVICES)}."),
    ] = None,
    brokers: Annotated[
        int | None, typer.Option(help="How many Kafka brokers: 1 or 3.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew: all data is removed.")
    ] = False,
    directory: Directory = None,
    output: Output = Format.TABLE,
) -> None:
    """Start servers on this machine; without names, all of them."""
    ENDING.at_once(_UP_ENDED, _UP_GRACE_SECONDS)
    stack = _stack(directory)
    found = stack.up(services or [], brokers=brokers, fresh=fresh, tell=_tell)
    _print_status(found, output)


def down(directory: Directory = None) -> None:
    """Stop the servers that `up` started; their data stays."""
    if not _stack(directory).down(_tell):
        talk().print("nothing was running")


def status(directory: Directory = None, output: Output = Format.TABLE) -> None:
    """Show each process with its pid, port and health; exit 1 if one is not well."""
    found = _stack(directory).status()
    if not found and output is Format.TABLE:
        talk().print("no servers were started here; `headrace up` starts them")
    else:
        _print_status(found, output)
    if any(process.health in {"dead", "unhealthy"} for process in found):
        raise typer.Exit(1)


def _print_status(found: list[ProcessStatus], output: Format) -> None:
    if output is Format.JSON:
        print_json([asdict(process) for process in found])
        return
    rows = [
        (
            process.process,
            process.health,
            str(process.pid or "-"),
            str(process.port),
            f"{process.memory_bytes / 2**20:.0f} MiB" if process.pid else "-",
            process.problem or process.address,
        )
        for process in found
    ]
    print_table(("process", "health", "pid", "port", "memory", "address"), rows)


def logs(
    name: Annotated[str, typer.Argument(metavar="SERVICE", help="Such as kafka-2.")],
    lines: Annotated[
        int, typer.Option("-n", "--lines", help="How many, last ones.")
    ] = 50,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on.")] = False,
    directory: Directory = None,
) -> None:
    """Show what a server has logged."""
    stack = _stack(directory)
    process = f"{name}-1" if name == "kafka" else name
    file = stack.run_directory.path / process / f"{process}.log"
    if not file.is_file():
        raise ServiceError(
            "log-missing",
            f'there is no log of "{name}"',
            hint="`headrace status` shows the processes that were started.",
            where=str(stack.run_directory.path),
        )
    with file.open(errors="replace") as log:
        for line in log.readlines()[-lines:] if lines > 0 else []:
            typer.echo(line, nl=False)
        while follow:
            line = log.readline()
            if line:
                typer.echo(line, nl=False)
            else:
                time.sleep(0.2)
