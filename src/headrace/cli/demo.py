"""The demos: whole systems that run with one command."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Annotated

import typer

from headrace.errors import SettingsError

# A wheel carries the demos inside the package; a clone has them where people look.
_PACKAGE = Path(__file__).parents[1]
_PLACES = (_PACKAGE / "_demos", _PACKAGE.parents[1] / "examples")
DEMOS = {"fraud": "fraud/demo.py", "log": "the_log/__main__.py"}


def demo(
    name: Annotated[str, typer.Argument(help="fraud or log.")] = "fraud",
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="End by itself after so long.")
    ] = None,
) -> None:
    """Run a system on real servers: card fraud as it happens, or the log itself.

    Fraud: six servers are started without data, a bank's card traffic runs through a
    pipeline, and every transaction is accounted for; exit 1 if one was lost or doubled,
    or if the planted fraud was not found. Log: three brokers, one topic, three readers.
    """
    file = demo_file(name)
    # In this process, which owns the signals already: a second one would have to be
    # found and ended by whatever ends this one.
    sys.argv = [str(file), *([] if seconds is None else ["--seconds", str(seconds)])]
    sys.path.insert(0, str(file.parent))
    runpy.run_path(str(file), run_name="__main__")


def demo_file(name: str) -> Path:
    """Give where a demo begins.

    Raises:
        SettingsError: [demo-unknown] there is none of this name.
    """
    if name not in DEMOS:
        raise SettingsError(
            "demo-unknown",
            f'there is no demo "{name}"',
            hint=f"the demos are: {', '.join(DEMOS)}.",
        )
    found = [place / DEMOS[name] for place in _PLACES]
    return next((path for path in found if path.is_file()), found[0])
