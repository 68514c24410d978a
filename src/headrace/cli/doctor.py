"""The doctor: what this machine has, what it lacks, and how to get that."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.output import Format, print_json, print_table
from headrace.services.doctor import examine
from headrace.settings import load_settings


def doctor(
    directory: Annotated[
        Path | None, typer.Option("--dir", help="The run directory to look at.")
    ] = None,
    output: Annotated[
        Format, typer.Option("--format", help="How to print the data.")
    ] = Format.TABLE,
) -> None:
    """Look at Java, disk, ports and directories; exit 1 if something is missing."""
    findings = examine(load_settings(), directory)
    if output is Format.JSON:
        print_json(
            [
                {"what": f.what, "well": f.well, "found": f.found, "remedy": f.remedy}
                for f in findings
            ]
        )
    else:
        print_table(
            ("", "what", "found"),
            [("ok" if f.well else "!!", f.what, f.found) for f in findings],
        )
        for finding in findings:
            if finding.remedy:
                typer.echo(f"\n{finding.what}: {finding.remedy}", err=True)
    if not all(finding.well for finding in findings):
        raise typer.Exit(1)
