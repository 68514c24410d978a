"""The command that writes lines of stdin to a topic."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from headrace.cli.address import Bootstrap, find_log, read_pairs
from headrace.cli.output import talk
from headrace.cli.services import Directory
from headrace.errors import LogError

if TYPE_CHECKING:
    from headrace.log import EventWriter, LineFormat


class Input:
    """Lines of a stream until it ends, or Ctrl-C or SIGTERM ends them.

    A signal while a line is awaited ends the input, and what was taken is still
    written. A second one is an interrupt like any other.
    """

    def __init__(self, stream: BinaryIO, longest: int) -> None:
        self._stream = stream
        self._longest = longest
        self._waits = False
        self.interrupted = False

    def __iter__(self) -> Iterator[bytes]:
        """Give line after line; no more of one than makes clear that it is too long."""
        while line := self._next():
            yield line

    def _next(self) -> bytes:
        if self.interrupted:
            return b""
        self._waits = True
        try:
            return self._stream.readline(self._longest + 1)
        except KeyboardInterrupt:
            return b""
        finally:
            self._waits = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear the signals here, instead of being interrupted anywhere."""
        signs = (signal.SIGINT, signal.SIGTERM)
        before = {sign: signal.getsignal(sign) for sign in signs}
        for sign, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(sign, self._interrupt)
        try:
            yield
        finally:
            for sign, handler in before.items():
                signal.signal(sign, handler)

    def _interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        again, self.interrupted = self.interrupted, True
        if self._waits or again:
            raise KeyboardInterrupt


def produce(
    topic: Annotated[str, typer.Argument(help="The topic to write to.")],
    key: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="The field whose value is the key."),
    ] = None,
    key_separator: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What stands between key and value."),
    ] = None,
    partition: Annotated[
        int | None, typer.Option(min=0, help="By default the key decides.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Goes with every event."),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Send each line as it is.")
    ] = False,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
) -> None:
    """Write lines of stdin, one JSON object each, until all are acknowledged."""
    from headrace.log import (  # noqa: PLC0415 - loads librdkafka
        LONGEST_LINE,
        Destination,
        EventWriter,
        LineFormat,
        require_partitions,
    )

    if key is not None and (raw or key_separator is not None):
        raise typer.BadParameter("--key excludes --key-separator and --raw")
    if key_separator == "":
        raise typer.BadParameter("--key-separator is empty")
    headers = read_pairs(header, "--header")
    address = find_log(bootstrap, directory)
    require_partitions(
        address.admin(), topic, () if partition is None else (partition,)
    )
    if sys.stdin.isatty():
        talk().print("one event a line; Ctrl-D ends")
    writer = EventWriter(address.bootstrap, Destination(topic, partition, headers))
    lines = Input(sys.stdin.buffer, LONGEST_LINE)
    with lines.listening():
        _write(writer, lines, LineFormat(key, key_separator, raw))
        written = writer.finish()
    talk().print(f"{written} event(s) acknowledged", highlight=False)
    if lines.interrupted:
        raise typer.Exit(130)


def _write(writer: EventWriter, lines: Input, form: LineFormat) -> None:
    from headrace.log import parse_lines  # noqa: PLC0415 - loads librdkafka

    try:
        writer.write_all(parse_lines(lines, form))
    except LogError as error:
        written = writer.finish()
        said = (
            f"{written} event(s) before it were acknowledged; nothing after it is sent."
        )
        error.detail = "\n".join(filter(None, (error.detail, said)))
        raise
