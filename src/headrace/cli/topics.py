"""Commands for topics: list, show, create, delete."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from headrace.cli.address import (
    Bootstrap,
    Yes,
    find_log,
    read_pairs,
    require_consent,
)
from headrace.cli.output import Format, print_json, print_table, talk
from headrace.cli.services import Directory, Output

app = typer.Typer(
    help="See, make and remove topics.", no_args_is_help=True, rich_markup_mode=None
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The topic's name.")]


@app.command("list")
def list_(
    everything: Annotated[
        bool, typer.Option("--all", help="Show Kafka's and headrace's own too.")
    ] = False,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Output = Format.TABLE,
) -> None:
    """Show the topics, with how much each can hold."""
    from headrace.log import list_topics  # noqa: PLC0415 - loads librdkafka

    admin = find_log(bootstrap, directory).admin()
    found = list_topics(admin, internal=everything)
    if output is Format.JSON:
        print_json([asdict(topic) for topic in found])
        return
    print_table(
        ("topic", "partitions", "replicas", "events", "cleanup"),
        [
            (t.name, str(t.partitions), str(t.replicas), str(t.events), t.cleanup)
            for t in found
        ],
    )


@app.command()
def show(
    name: Name,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Output = Format.TABLE,
) -> None:
    """Show a topic's partitions, and the settings that were made for it."""
    from headrace.log import (  # noqa: PLC0415 - loads librdkafka
        bounds_of,
        describe_topic,
        topic_config,
    )

    admin = find_log(bootstrap, directory).admin()
    partitions = describe_topic(admin, name)
    bounds = bounds_of(admin, {name: [p.number for p in partitions]})[name]
    config = topic_config(admin, name)
    if output is Format.JSON:
        rows = [
            {
                "partition": p.number,
                "leader": p.leader,
                "in_sync": list(p.in_sync),
                "begin": bounds.begin[p.number],
                "end": bounds.end[p.number],
            }
            for p in partitions
        ]
        print_json({"name": name, "partitions": rows, "config": config})
        return
    print_table(
        ("partition", "leader", "in sync", "begin", "end"),
        [
            (
                str(p.number),
                "-" if p.leader is None else str(p.leader),
                " ".join(str(broker) for broker in p.in_sync),
                str(bounds.begin[p.number]),
                str(bounds.end[p.number]),
            )
            for p in partitions
        ],
    )
    if config:
        typer.echo()
        print_table(("setting", "value"), list(config.items()))


@app.command()
def create(
    name: Name,
    partitions: Annotated[
        int, typer.Option(min=1, help="Keys are spread over so many partitions.")
    ],
    replicas: Annotated[
        int | None,
        typer.Option(min=1, help="So many brokers hold each; else Kafka's choice."),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Such as retention.ms=60000."),
    ] = None,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
) -> None:
    """Make a topic."""
    from headrace.log import create_topic  # noqa: PLC0415 - loads librdkafka

    wanted = dict(read_pairs(config, "--config"))
    admin = find_log(bootstrap, directory).admin()
    create_topic(admin, name, partitions=partitions, replicas=replicas, config=wanted)
    talk().print(f'made topic "{name}"', highlight=False, markup=False)


@app.command()
def delete(
    name: Name,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
) -> None:
    """Remove a topic with all its events."""
    from headrace.log import (  # noqa: PLC0415 - loads librdkafka
        delete_topic,
        describe_topic,
    )

    admin = find_log(bootstrap, directory).admin()
    describe_topic(admin, name)
    require_consent(f'Remove topic "{name}" with all its events?', yes=yes)
    delete_topic(admin, name)
    talk().print(f'removed topic "{name}"', highlight=False, markup=False)
