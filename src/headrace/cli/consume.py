"""The command that prints a topic's events as lines of JSON."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterable
from enum import StrEnum
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.address import Bootstrap, find_log
from headrace.cli.ending import ENDING
from headrace.cli.output import talk
from headrace.cli.services import Directory

if TYPE_CHECKING:
    from headrace.log import StoredEvent


class Isolation(StrEnum):
    """Whether events of open and aborted transactions are shown."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


def _registry(address: str | None) -> str | None:
    if address not in (None, "none") and not address.startswith(
        ("http://", "https://")
    ):
        raise typer.BadParameter("it is neither an address nor none")
    return address


def consume(
    topic: Annotated[str, typer.Argument(help="The topic to read.")],
    place: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="PLACE",
            help="earliest, latest, offset:42 or time:2026-11-15T10:00:00Z.",
        ),
    ] = "earliest",
    partition: Annotated[
        list[int] | None, typer.Option(min=0, help="By default all partitions.")
    ] = None,
    most: Annotated[
        int | None, typer.Option("--max", min=1, help="Stop after so many events.")
    ] = None,
    follow: Annotated[
        bool | None,
        typer.Option(
            "--follow/--until-end",
            help="Go on, or stop where the topic ends now (the default, "
            "except with --from latest).",
        ),
    ] = None,
    isolation: Annotated[
        Isolation, typer.Option(help="Whether aborted events are shown.")
    ] = Isolation.READ_COMMITTED,
    values: Annotated[
        bool, typer.Option("--values", help="Print the values alone.")
    ] = False,
    registry: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            callback=_registry,
            help="Where schemas are; by default the project's own registry. "
            "none: decode nothing.",
        ),
    ] = None,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
) -> None:
    """Print events, one JSON object a line; no consumer group is touched."""
    from headrace.log import (  # noqa: PLC0415 - loads librdkafka
        LATEST,
        Reading,
        SchemaBook,
        Span,
        event_line,
        parse_place,
        value_json,
    )

    start = parse_place(place)
    address = find_log(bootstrap, directory)
    span = Span(
        place=start,
        partitions=tuple(partition or ()),
        follow=start == LATEST if follow is None else follow,
        uncommitted=isolation is Isolation.READ_UNCOMMITTED,
    )
    known = address.registry if registry is None else registry
    book = None if known in (None, "none") else SchemaBook(known)

    def line(event: StoredEvent) -> str:
        return value_json(event.value, book) if values else event_line(event, book)

    reading = Reading(address.admin(), address.bootstrap, topic, span, _tell)
    try:
        _print_events(reading, line, most)
    except BrokenPipeError:
        # Who reads our lines has enough of them. Python would complain again when
        # it flushes stdout at the end, so that leads nowhere from here on.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(news: str) -> None:
    talk().print(news, highlight=False, markup=False)


def _print_events(
    batches: Iterable[list[StoredEvent]],
    line: Callable[[StoredEvent], str],
    most: int | None,
) -> None:
    out = sys.stdout.buffer
    count = 0
    enough = Event()
    # The count is the line that says what was done.
    ENDING.after("", enough.set)
    for batch in batches:
        wanted = batch if most is None else batch[: most - count]
        for event in wanted:
            out.write(line(event).encode() + b"\n")
        out.flush()
        count += len(wanted)
        if count == most or enough.is_set():
            break
        if not batch and _nobody_reads():
            raise BrokenPipeError
    _tell(f"{count} event(s)")


def _nobody_reads() -> bool:
    """Tell whether stdout is a pipe whose other end is closed; a write would say so."""
    waiting = select.poll()
    waiting.register(sys.stdout.fileno(), 0)
    return any(state & select.POLLERR for _, state in waiting.poll(0))
