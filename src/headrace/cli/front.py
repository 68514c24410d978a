"""The command line's front door: global options, and errors as a user reads them."""

from __future__ import annotations

import os
import sys
import traceback
from importlib.metadata import version
from typing import Annotated

import typer

from headrace.cli import (
    cdc,
    consume,
    dead_letters,
    demo,
    doctor,
    groups,
    inspect,
    ops,
    produce,
    replay,
    run,
    services,
    sql,
    tables,
    topics,
    view,
)
from headrace.cli.ending import ENDING, INTERRUPTED
from headrace.cli.output import talk
from headrace.errors import HeadraceError

app = typer.Typer(
    name="headrace",
    help="Stream processing for Python teams, on Spark.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command()(run.run)
app.command()(replay.replay)
app.command()(sql.sql)
app.command()(inspect.inspect)
app.command()(services.up)
app.command()(services.down)
app.command()(services.status)
app.command()(services.logs)
app.command()(doctor.doctor)
app.add_typer(topics.app, name="topics")
app.command()(produce.produce)
app.command()(consume.consume)
app.add_typer(groups.app, name="groups")
app.add_typer(dead_letters.app, name="dead-letters")
app.add_typer(cdc.app, name="cdc")
app.add_typer(tables.app, name="tables")
app.add_typer(view.app, name="view")
app.add_typer(ops.app, name="ops")


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"headrace {version('headrace')}")
        raise typer.Exit


@app.callback()
def _global_options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the whole trace of an error.")
    ] = False,
    _version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Show the version.",
        ),
    ] = False,
) -> None:
    if debug:
        os.environ["HEADRACE_DEBUG"] = "1"
    if os.environ.get("HEADRACE_DEBUG"):
        # Found by the log4j2.properties of the JVM.
        os.environ.setdefault("HEADRACE_SPARK_ERRORS", "error")


def main() -> None:
    """Run the command; exit with 0, 1 (an error), 2 (wrong use) or 130 (Ctrl-C)."""
    try:
        app(standalone_mode=True)
    except HeadraceError as error:
        if os.environ.get("HEADRACE_DEBUG"):
            traceback.print_exc()
        else:
            talk().print(str(error), style="red", highlight=False, markup=False)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(ENDING.status(INTERRUPTED))
    except SystemExit as left:
        sys.exit(ENDING.status(left.code))
    except Exception:
        # What is interrupted amid a call may stumble over it on its way out.
        if not ENDING.is_interrupted or os.environ.get("HEADRACE_DEBUG"):
            raise
        sys.exit(ENDING.status(INTERRUPTED))
