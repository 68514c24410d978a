"""Commands for consumer groups: list, show, reset."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from headrace.cli.address import Bootstrap, Yes, find_log, require_consent
from headrace.cli.output import Format, print_json, print_table, talk
from headrace.cli.services import Directory, Output

app = typer.Typer(
    help="See how far consumer groups have come, and have them read again.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The group's name.")]


@app.command("list")
def list_(
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Output = Format.TABLE,
) -> None:
    """Show the groups, with their members and all they have still to read."""
    from headrace.log import list_groups  # noqa: PLC0415 - loads librdkafka

    address = find_log(bootstrap, directory)
    found = list_groups(address.admin(), address.bootstrap)
    if output is Format.JSON:
        print_json(
            [
                {"name": g.name, "state": g.state, "members": g.members, "lag": g.lag}
                for g in found
            ]
        )
        return
    print_table(
        ("group", "state", "members", "lag"),
        [(g.name, g.state, str(g.members), str(g.lag)) for g in found],
    )


@app.command()
def show(
    name: Name,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Output = Format.TABLE,
) -> None:
    """Show how far a group has come in each partition, and who reads it."""
    from headrace.log import describe_group  # noqa: PLC0415 - loads librdkafka

    address = find_log(bootstrap, directory)
    group = describe_group(address.admin(), address.bootstrap, name)
    if output is Format.JSON:
        print_json({**asdict(group), "lag": group.lag})
        return
    members = f"{group.members} member(s)"
    talk().print(f"{group.state}, {members}, lag {group.lag}", highlight=False)
    print_table(
        ("topic", "partition", "committed", "end", "lag", "member"),
        [
            (
                p.topic,
                str(p.partition),
                "-" if p.committed is None else str(p.committed),
                str(p.end),
                str(p.lag),
                p.member or "-",
            )
            for p in group.progress
        ],
    )


@app.command()
def reset(
    name: Name,
    topic: Annotated[str, typer.Option(help="The topic to read again, or to skip.")],
    to: Annotated[
        str,
        typer.Option(
            metavar="PLACE",
            help="earliest, latest, offset:42 or time:2026-11-15T10:00:00Z.",
        ),
    ],
    partition: Annotated[
        list[int] | None, typer.Option(min=0, help="By default all partitions.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show it and change nothing.")
    ] = False,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Output = Format.TABLE,
) -> None:
    """Have a group without members read on at another place."""
    from headrace.log import (  # noqa: PLC0415 - loads librdkafka
        describe_group,
        parse_place,
        plan_reset,
        reset_group,
    )

    place = parse_place(to)
    address = find_log(bootstrap, directory)
    admin = address.admin()
    group = describe_group(admin, address.bootstrap, name)
    moves = plan_reset(admin, group, topic, place, partition or ())
    if not dry_run:
        question = f'Move group "{name}" to {to} in {len(moves)} partition(s)?'
        require_consent(question, yes=yes)
        reset_group(address.bootstrap, name, topic, moves)
    if output is Format.JSON:
        print_json([{"topic": topic, **asdict(move)} for move in moves])
    else:
        print_table(
            ("topic", "partition", "before", "after"),
            [
                (
                    topic,
                    str(move.partition),
                    "-" if move.before is None else str(move.before),
                    str(move.after),
                )
                for move in moves
            ],
        )
    if dry_run:
        talk().print("nothing was changed: this was a dry run")
