"""The command that runs a pipeline."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, cast

import typer

from headrace.cli.address import (
    Bootstrap,
    Checkpoint,
    Master,
    MostPerBatch,
    Registry,
    SparkSettings,
    find_log,
    read_pairs,
)
from headrace.cli.ending import AFTER_THIS, ENDING
from headrace.cli.load import load_pipeline
from headrace.cli.monitoring import Alert, Monitored, Watch, monitoring
from headrace.cli.output import Format, talk
from headrace.cli.services import Directory
from headrace.errors import SettingsError
from headrace.services import Stack
from headrace.services.addresses import Addresses
from headrace.serving import LOOPBACK
from headrace.settings import load_settings
from headrace.views.keeping import Surroundings, keeping

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace._spark import Starting
    from headrace.cli.address import Address
    from headrace.pipeline import Pipeline
    from headrace.plan.steps import Output
    from headrace.runtime.progress import BatchProgress
    from headrace.runtime.run import Conditions
    from headrace.runtime.watching import CaptureGuard


GOES_ON = "start it again and it goes on from there"
KILLED = "killed; what was not committed is done again at the next start"
AT_START = f"ended before the first batch; {GOES_ON}"


def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Such as fraud.py.")],
    master: Master = "local[2]",
    until_caught_up: Annotated[
        bool, typer.Option("--until-caught-up", help="Stop at the input's end.")
    ] = False,
    every: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="How often a batch begins; 0: at once."),
    ] = None,
    most_per_batch: MostPerBatch = None,
    checkpoint: Checkpoint = None,
    adopt: Annotated[
        list[str] | None,
        typer.Option(help="Take over as it is, once; an error says when and what."),
    ] = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Take the lanes from another driver.")
    ] = False,
    registry: Registry = None,
    conf: SparkSettings = None,
    beside: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Write beside; see replay."),
    ] = None,
    views: Annotated[
        int | None,
        typer.Option(metavar="PORT", help="Serve the views too; 0: a free port."),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="[HOST:]PORT", help="Serve metrics; 0: a free port."),
    ] = None,
    alert: Alert = None,
    watch_duplicates: Annotated[
        list[str] | None,
        typer.Option(metavar="TOPIC=COLUMN", help="Count ids that come twice."),
    ] = None,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Annotated[
        Format, typer.Option("--format", help="json: a line a batch, on stdout.")
    ] = Format.TABLE,
) -> None:
    """Run a pipeline until it is stopped; SIGTERM and Ctrl-C finish the batch."""
    ENDING.at_once(AT_START)
    ENDING.at_kill(KILLED)
    talk().print(f"loading {file}", highlight=False)
    config = dict(read_pairs(conf, "--conf"))
    watch = Watch.read(metrics, alert, watch_duplicates)
    _require_shared(checkpoint, master)
    pipeline = load_pipeline(file)
    if beside is not None:
        pipeline = pipeline.beside(beside)
    log = find_log(bootstrap, directory)

    # These load PySpark, which an error in the user's file should not wait for.
    from headrace.runtime.run import require_outputs  # noqa: PLC0415
    from headrace.runtime.targets import artifact_groups  # noqa: PLC0415

    require_outputs(pipeline)
    groups = artifact_groups(pipeline.outputs)
    with starting(master, config, groups) as begun:
        conditions = _conditions(pipeline, log, checkpoint, directory)
        conditions = replace(
            conditions,
            registry=registry or log.registry,
            until_caught_up=until_caught_up,
            every=timedelta(seconds=every) if every is not None else None,
            most_per_batch=most_per_batch,
            adopt=frozenset(adopt or ()),
            take_over=take_over,
        )
        _carry(file)
        tell = _json if output is Format.JSON else tell_line
        watch = replace(watch, checkpoint=conditions.checkpoint)
        with (
            monitoring(pipeline, log, watch, tell) as monitored,
            started(begun, pipeline.name) as spark,
        ):
            _follow(pipeline, spark, conditions, views, monitored)


def _conditions(
    pipeline: Pipeline, log: Address, checkpoint: str | None, directory: Path | None
) -> Conditions:
    """Return where a pipeline runs, once its topics are there."""
    from headrace.runtime.rebuild import require_rebuilt  # noqa: PLC0415
    from headrace.runtime.run import Conditions  # noqa: PLC0415 - loads PySpark
    from headrace.runtime.topics import make_missing_topics  # noqa: PLC0415

    for topic in make_missing_topics(log.admin(), pipeline):
        talk().print(f'made topic "{topic}"')
    settings = load_settings()
    state = settings.state_dir / "checkpoints" / pipeline.name
    conditions = Conditions(
        bootstrap=log.bootstrap,
        checkpoint=checkpoint or str(state),
        servers=Addresses(settings, Stack(directory, settings)),
    )
    require_rebuilt(conditions.checkpoint)
    return conditions


def _carry(file: str) -> None:
    """Let Python workers find the functions that stand beside the user's file."""
    from headrace._spark import carry_functions  # noqa: PLC0415 - loads PySpark

    carry_functions(Path(file.partition(":")[0]).parent)


@contextlib.contextmanager
def starting(
    master: str, config: dict[str, str], groups: Sequence[str] = ()
) -> Iterator[Starting]:
    """Begin to start Spark, whose JVM comes up meanwhile; none of it is left behind."""
    from headrace._spark import begin  # noqa: PLC0415 - loads PySpark

    talk().print(f"starting Spark, {master}", highlight=False)
    begun = begin(master=master, config=config, groups=groups)
    try:
        yield begun
    finally:
        begun.give_up()


@contextlib.contextmanager
def started(begun: Starting, name: str) -> Iterator[SparkSession]:
    """Return the session that was begun, and end it with its JVM when this is left."""
    from headrace._spark import end  # noqa: PLC0415 - loads PySpark
    from headrace._spark.signals import signals_left_alone  # noqa: PLC0415

    with signals_left_alone():
        spark = begun.session(name)
    try:
        yield spark
    except KeyboardInterrupt:
        # Amid a call to the JVM, perhaps, which answers no other: it is ended from
        # outside, as whatever a command has started.
        raise
    except BaseException:
        end(spark)
        raise
    end(spark)


def _follow(
    pipeline: Pipeline,
    spark: SparkSession,
    conditions: Conditions,
    views: int | None,
    monitored: Monitored,
) -> None:
    """Start the query, and stay with it until it ends or is told to."""
    from headrace.runtime.run import follow, start  # noqa: PLC0415

    told: list[int] = []

    def tell(progress: BatchProgress) -> None:
        monitored.tell(progress)
        told[:] = [progress.batch]

    look, enough = monitored.look, Event()
    outputs = pipeline.outputs
    with _guard(pipeline, conditions) as guard:
        delivering = start(pipeline, spark, conditions)
        ENDING.after(AFTER_THIS, enough.set)
        talk().print(f'pipeline "{pipeline.name}" runs; Ctrl-C ends it')
        talk().print(first_batch(outputs), highlight=False)
        with _serving(pipeline, conditions, views):
            follow(delivering, tell, enough, outputs=outputs, guard=guard, look=look)
    if enough.is_set():
        until = f"after batch {told[0]}" if told else "before the first batch"
        talk().print(f"ended {until}; {GOES_ON}", highlight=False)


def first_batch(outputs: Sequence[Output]) -> str:
    """Say what the first batch reads: it takes the longest, and says nothing else."""
    from headrace.plan.steps import source_topics  # noqa: PLC0415

    return f"first batch: reading {', '.join(source_topics(outputs))}"


def _guard(pipeline: Pipeline, conditions: Conditions) -> CaptureGuard:
    """Look after the captures that are read, and say which are not looked after."""
    from headrace.log import client_settings  # noqa: PLC0415 - loads librdkafka
    from headrace.runtime.watching import (  # noqa: PLC0415
        CaptureGuard,
        captured_databases,
        find_captures,
    )

    databases = captured_databases(pipeline.outputs)
    kafka = client_settings(conditions.bootstrap)
    servers = cast("Addresses", conditions.servers)
    captures, others = find_captures(databases, servers, kafka)
    for name, reason in others.items():
        talk().print(f'the capture of "{name}" is not looked after: {reason}')
    return CaptureGuard(captures)


@contextlib.contextmanager
def _serving(
    pipeline: Pipeline, conditions: Conditions, port: int | None
) -> Iterator[None]:
    """Serve the pipeline's views while it runs, if that is asked for."""
    if port is None:
        yield
        return
    place = load_settings().state_dir / "views" / pipeline.name
    around = Surroundings(
        place, conditions.bootstrap, conditions.servers, LOOPBACK, port
    )
    with keeping(pipeline, around, talk().print) as server:
        talk().print(f"views at {server.url}", highlight=False)
        yield


def _require_shared(checkpoint: str | None, master: str) -> None:
    """Refuse to keep a cluster's state where only this machine looks."""
    if checkpoint is None and master.startswith(("spark://", "k8s://", "yarn")):
        raise SettingsError(
            "checkpoint-needed",
            "a run on a cluster needs a checkpoint of its own choice",
            detail="executors keep state there, and the default is a directory of "
            "this machine.",
            hint="give --checkpoint a place that every machine of the cluster reaches, "
            "such as hdfs://… or a shared directory.",
            where=f"master {master}",
        )


def _json(progress: BatchProgress, alerts: Sequence[str]) -> None:
    typer.echo(json.dumps(asdict(progress) | {"alerts": alerts}))


def tell_line(progress: BatchProgress, _alerts: Sequence[str] = ()) -> None:
    """Tell a person of a batch; of alerts they are told when they begin."""
    took = progress.phases_ms.get("triggerExecution", 0) / 1000
    told = [
        f"{progress.events_in:,} events in {took:.1f} s "
        f"({progress.events_per_second:,.0f}/s)",
        f"{progress.lag:,} behind",
        f"{progress.dead_letters:,} dead letters",
    ]
    if progress.windows:
        late = sum(counts["late"] for counts in progress.windows.values())
        panes = sum(counts["panes"] for counts in progress.windows.values())
        told += [f"{panes:,} panes", f"{late:,} late"]
    slowest = max(
        (
            (took["commit_p99"], name)
            for outputs in progress.propagation.values()
            for name, took in outputs.items()
        ),
        default=None,
    )
    if slowest:
        told.append(f"{slowest[0] / 1000:.1f} s from commit to {slowest[1]} (P99)")
    if progress.joins:
        late = sum(counts["late"] for counts in progress.joins.values())
        results = sum(counts["results"] for counts in progress.joins.values())
        told += [f"{results:,} joined", f"{late:,} late for joins"]
    if progress.watermark:
        told.append(f"watermark {progress.watermark}")
    talk().print(f"batch {progress.batch}: {', '.join(told)}", highlight=False)
