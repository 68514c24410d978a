"""Commands for dead letters: list, show, replay."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.address import Address, Bootstrap, Yes, find_log, require_consent
from headrace.cli.output import Format, print_json, print_table, talk
from headrace.cli.services import Directory
from headrace.errors import LogError

if TYPE_CHECKING:
    from headrace.runtime.dead_letters import DeadLetter

app = typer.Typer(help="Inputs that could not be read.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="PIPELINE", help="The pipeline's name.")]
Reason = Annotated[
    str | None,
    typer.Option(help="Only those with this reason, such as json-malformed."),
]
Output = Annotated[Format, typer.Option("--format", help="How to print the data.")]


def _topic(pipeline: str) -> str:
    return f"{pipeline}.dead-letters"


def _read(address: Address, pipeline: str, reason: str | None) -> list[DeadLetter]:
    from headrace.runtime.dead_letters import (  # noqa: PLC0415 - loads librdkafka
        read_dead_letters,
    )

    admin = address.admin()
    found = read_dead_letters(admin, address.bootstrap, _topic(pipeline))
    return [letter for letter in found if reason in (None, letter.reason)]


def _told(letter: DeadLetter) -> dict[str, object]:
    from headrace.log import value_json  # noqa: PLC0415 - loads librdkafka

    return {
        "place": letter.place,
        "reason": letter.reason,
        "detail": letter.detail,
        "topic": letter.origin_topic,
        "partition": letter.origin_partition,
        "offset": letter.origin_offset,
        "time": letter.origin_time,
        "value": json.loads(value_json(letter.stored.value)),
    }


@app.command("list")
def list_letters(
    pipeline: Name,
    reason: Reason = None,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Output = Format.TABLE,
) -> None:
    """List dead letters: their place, reason and origin."""
    letters = _read(find_log(bootstrap, directory), pipeline, reason)
    if output is Format.JSON:
        print_json([_told(letter) for letter in letters])
        return
    rows = [
        (
            letter.place,
            letter.reason,
            f"{letter.origin_topic} {letter.origin_partition}:{letter.origin_offset}",
            letter.detail,
        )
        for letter in letters
    ]
    print_table(("place", "reason", "origin", "detail"), rows)
    reasons = Counter(letter.reason for letter in letters)
    counted = ", ".join(f"{count} {name}" for name, count in reasons.most_common())
    talk().print(f"{len(letters)} dead letter(s)" + (f": {counted}" if counted else ""))


@app.command()
def show(
    pipeline: Name,
    place: Annotated[str, typer.Argument(help="Its place, as `list` shows it: 0:42.")],
    bootstrap: Bootstrap = None,
    directory: Directory = None,
) -> None:
    """Show one dead letter whole."""
    letters = _read(find_log(bootstrap, directory), pipeline, None)
    print_json(_told(_find(letters, place, pipeline)))


@app.command()
def replay(
    pipeline: Name,
    place: Annotated[
        list[str] | None,
        typer.Option(help="One to send, even if it was sent before; may be repeated."),
    ] = None,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
) -> None:
    """Send dead letters back to where they came from: those named, or all unsent."""
    from headrace.runtime.dead_letters import Replay  # noqa: PLC0415

    address = find_log(bootstrap, directory)
    found = _read(address, pipeline, None)
    sending = Replay(address.bootstrap, _topic(pipeline))
    if place:
        letters = [_find(found, wanted, pipeline) for wanted in place]
    else:
        letters = sending.unsent(found)
    if not letters:
        talk().print("there is nothing to replay")
        return
    topics = ", ".join(sorted({letter.origin_topic for letter in letters}))
    require_consent(f"send {len(letters)} dead letter(s) to {topics}?", yes=yes)
    count = sending.send(letters)
    if not place:
        sending.remember(letters)
    talk().print(f"{count} dead letter(s) replayed to {topics}")


def _find(letters: Sequence[DeadLetter], place: str, pipeline: str) -> DeadLetter:
    for letter in letters:
        if letter.place == place:
            return letter
    raise LogError(
        "dead-letter-missing",
        f'there is no dead letter at "{place}"',
        hint=f"`headrace dead-letters list {pipeline}` shows their places.",
    )
