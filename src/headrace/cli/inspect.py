"""The command that explains a pipeline without starting it."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.load import load_pipeline
from headrace.cli.output import Format, print_json
from headrace.plan.explain import explain_text


def inspect(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Such as fraud.py.")],
    output: Annotated[
        Format, typer.Option("--format", help="How to print the data.")
    ] = Format.TABLE,
) -> None:
    """Show a pipeline's graph, schemas, state and guarantees; no JVM is started."""
    told = load_pipeline(file).explain()
    if output is Format.JSON:
        print_json(told)
    else:
        typer.echo(explain_text(told))
