"""The command that runs a pipeline."""

from __future__ import annotations

import json
import signal
from dataclasses import asdict
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.address import Bootstrap, find_log
from headrace.cli.load import load_pipeline
from headrace.cli.output import Format, talk
from headrace.cli.services import Directory
from headrace.settings import load_settings

if TYPE_CHECKING:
    from headrace.runtime.progress import BatchProgress


def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Such as fraud.py.")],
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[2]",
    until_caught_up: Annotated[
        bool, typer.Option("--until-caught-up", help="Stop at the input's end.")
    ] = False,
    every: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="How often a batch begins.")
    ] = None,
    most_per_batch: Annotated[
        int | None, typer.Option(help="The most records of a topic in a batch.")
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="Where progress and state are kept.")
    ] = None,
    adopt: Annotated[
        list[str] | None,
        typer.Option(help="Take over as it is, once; an error says when and what."),
    ] = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Take the lanes from another driver.")
    ] = False,
    registry: Annotated[
        str | None, typer.Option(metavar="URL", help="The schema registry.")
    ] = None,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Annotated[
        Format, typer.Option("--format", help="json: a line a batch, on stdout.")
    ] = Format.TABLE,
) -> None:
    """Run a pipeline until it is stopped; SIGTERM and Ctrl-C finish the batch."""
    pipeline = load_pipeline(file)
    log = find_log(bootstrap, directory)

    # These load PySpark, which an error in the user's file should not wait for.
    from headrace._spark import end, session  # noqa: PLC0415
    from headrace.runtime.run import (  # noqa: PLC0415
        Conditions,
        follow,
        require_outputs,
        start,
    )
    from headrace.runtime.topics import make_missing_topics  # noqa: PLC0415

    require_outputs(pipeline)
    for topic in make_missing_topics(log.admin(), pipeline):
        talk().print(f'made topic "{topic}"')
    state = load_settings().state_dir / "checkpoints" / pipeline.name
    conditions = Conditions(
        bootstrap=log.bootstrap,
        checkpoint=checkpoint or str(state),
        registry=registry or log.registry,
        until_caught_up=until_caught_up,
        every=timedelta(seconds=every) if every is not None else None,
        most_per_batch=most_per_batch,
        adopt=frozenset(adopt or ()),
        take_over=take_over,
    )
    enough = Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, lambda *_: enough.set())
    spark = session(pipeline.name, master=master)
    try:
        delivering = start(pipeline, spark, conditions)
        talk().print(f'pipeline "{pipeline.name}" runs; Ctrl-C ends it')
        follow(delivering, _json if output is Format.JSON else _line, enough)
    finally:
        end(spark)


def _json(progress: BatchProgress) -> None:
    typer.echo(json.dumps(asdict(progress)))


def _line(progress: BatchProgress) -> None:
    took = progress.phases_ms.get("triggerExecution", 0) / 1000
    talk().print(
        f"batch {progress.batch}: {progress.events_in:,} events in {took:.1f} s "
        f"({progress.events_per_second:,.0f}/s), {progress.lag:,} behind, "
        f"{progress.dead_letters:,} dead letters",
        highlight=False,
    )
