"""The command that runs a new version over what has been, beside the old one."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.address import (
    Bootstrap,
    Checkpoint,
    Master,
    MostPerBatch,
    Registry,
    SparkSettings,
)
from headrace.cli.output import Format
from headrace.cli.run import run
from headrace.cli.services import Directory


def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Such as fraud.py.")],
    version: Annotated[str, typer.Option("--as", help="Such as v2.")],
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on behind the input's end.")
    ] = False,
    master: Master = "local[2]",
    most_per_batch: MostPerBatch = None,
    checkpoint: Checkpoint = None,
    registry: Registry = None,
    conf: SparkSettings = None,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Annotated[
        Format, typer.Option("--format", help="json: a line a batch, on stdout.")
    ] = Format.TABLE,
) -> None:
    """Run a version of a pipeline over all that its topics hold, beside the old one.

    It has a checkpoint of its own, and every topic, table, index and keyspace that it
    writes has the version behind its name: `fraud-alerts` becomes `fraud-alerts-v2`.
    What runs goes on undisturbed. Asked again, it goes on from where it was.
    """
    run(
        file,
        master=master,
        until_caught_up=not follow,
        most_per_batch=most_per_batch,
        checkpoint=checkpoint,
        registry=registry,
        conf=conf,
        beside=version,
        bootstrap=bootstrap,
        directory=directory,
        output=output,
    )
