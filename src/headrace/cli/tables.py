"""Commands for tables: rebuild, check."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli.address import (
    Bootstrap,
    Checkpoint,
    Master,
    Registry,
    SparkSettings,
    Yes,
    find_log,
    read_pairs,
    require_consent,
)
from headrace.cli.ending import AFTER_THIS, ENDING
from headrace.cli.load import load_pipeline
from headrace.cli.output import Format, print_json, talk
from headrace.cli.run import started, starting, tell_line
from headrace.cli.services import Directory
from headrace.errors import StepError
from headrace.plan.changes import KeepTable
from headrace.plan.steps import walk
from headrace.settings import load_settings

if TYPE_CHECKING:
    from headrace.pipeline import Pipeline
    from headrace.runtime.table_check import Checked

app = typer.Typer(help="The tables that a pipeline keeps.", no_args_is_help=True)

File = Annotated[str, typer.Argument(metavar="FILE", help="Such as profiles.py.")]
TableName = Annotated[
    str | None, typer.Argument(metavar="[TABLE]", help="Its name; by default all.")
]


@app.command()
def rebuild(
    file: File,
    table: TableName = None,
    master: Master = "local[2]",
    checkpoint: Checkpoint = None,
    registry: Registry = None,
    conf: SparkSettings = None,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
) -> None:
    """Build tables anew from offset 0, and take from their topics what is gone."""
    config = dict(read_pairs(conf, "--conf"))
    pipeline = load_pipeline(file)
    names = [kept.name for kept in _tables(pipeline, table)]
    _require_all(pipeline, names)
    log = find_log(bootstrap, directory)

    # These load PySpark, which an error in the user's file should not wait for.
    from headrace._spark import carry_functions  # noqa: PLC0415
    from headrace.runtime.rebuild import Rebuild  # noqa: PLC0415
    from headrace.runtime.run import Conditions, require_outputs  # noqa: PLC0415
    from headrace.runtime.topics import make_missing_topics  # noqa: PLC0415

    require_outputs(pipeline)
    state = load_settings().state_dir / "checkpoints" / pipeline.name
    conditions = Conditions(
        bootstrap=log.bootstrap,
        checkpoint=checkpoint or str(state),
        registry=registry or log.registry,
    )
    admin = log.admin()
    rebuilding = Rebuild(pipeline, conditions, admin)
    require_consent(
        f"Read everything anew for {', '.join(names)}, and write every row again?",
        yes=yes,
    )
    make_missing_topics(admin, pipeline)
    enough = Event()
    carry_functions(Path(file.partition(":")[0]).parent)
    with (
        starting(master, config) as begun,
        started(begun, pipeline.name) as spark,
    ):
        ENDING.after(AFTER_THIS, enough.set)
        rebuilt = rebuilding.run(spark, tell_line, enough)
    for topic, gone in rebuilt.gone.items():
        talk().print(f'topic "{topic}": {gone:,} rows that are gone were taken away')
    if rebuilt.aside is not None:
        talk().print(f"the checkpoint of before is kept as {rebuilt.aside}")


@app.command()
def check(
    file: File,
    table: TableName = None,
    bootstrap: Bootstrap = None,
    directory: Directory = None,
    output: Annotated[
        Format, typer.Option("--format", help="How to print the data.")
    ] = Format.TABLE,
) -> None:
    """Tell whether compacted topics would still give the same tables."""
    pipeline = load_pipeline(file)
    wanted = _tables(pipeline, table)
    log = find_log(bootstrap, directory)

    from headrace.log import Reading, cleanup_policy  # noqa: PLC0415 - librdkafka
    from headrace.runtime.table_check import check_table  # noqa: PLC0415

    admin = log.admin()
    results = {}
    for kept in wanted:
        topic = kept.input.topic
        reading = Reading(admin, log.bootstrap, topic, tell=talk().print)
        checked = check_table(kept.input, (e for batch in reading for e in batch))
        results[kept.name] = checked
        if output is Format.TABLE:
            policy = cleanup_policy(admin, topic)
            _print(kept.name, f'topic "{topic}" ({policy})', checked)
    if output is Format.JSON:
        print_json({n: asdict(c) | {"is_same": c.is_same} for n, c in results.items()})
    if not all(checked.is_same for checked in results.values()):
        raise typer.Exit(1)


def _tables(pipeline: Pipeline, name: str | None) -> list[KeepTable]:
    """Give the tables of a pipeline, or the one that is asked for.

    Raises:
        StepError: [table-unknown] it keeps no table, or none of that name.
    """
    steps = [step for output in pipeline.outputs for step in walk(output.step)]
    tables = [step for step in steps if isinstance(step, KeepTable)]
    # What gives every change to a join is told with the table itself.
    found = {step.name: step for step in tables if not step.every}
    if not found or (name is not None and name not in found):
        asked = "no table" if name is None else f'no table "{name}"'
        raise StepError(
            "table-unknown",
            f'pipeline "{pipeline.name}" keeps {asked}',
            hint=f"it keeps {', '.join(found)}." if found else None,
            where=pipeline.where,
        )
    return list(found.values()) if name is None else [found[name]]


def _require_all(pipeline: Pipeline, names: list[str]) -> None:
    """Refuse to rebuild some tables of several.

    Raises:
        StepError: [rebuild-refused] the others would begin anew too.
    """
    others = [t.name for t in _tables(pipeline, None) if t.name not in names]
    if others:
        raise StepError(
            "rebuild-refused",
            f"{', '.join(names)} cannot be rebuilt without {', '.join(others)}",
            detail=f'the tables of pipeline "{pipeline.name}" share its checkpoint.',
            hint="leave the name out to rebuild all of them, or keep each table in a "
            "pipeline of its own.",
            where=pipeline.where,
        )


def _print(name: str, topic: str, checked: Checked) -> None:
    told = talk().print
    told(
        f'table "{name}" of {topic}: {checked.records:,} records, {checked.rows:,} rows'
    )
    if checked.is_same:
        told(f"  compacted to {checked.kept:,} records, it is the same table")
        return
    for what, count in checked.differences.most_common():
        told(f"  {count:,} times: {what}")
    for place, what in checked.examples:
        told(f"  {place}: {what}")
