"""The ``headrace`` command: data on stdout, talk on stderr."""

import sys

from headrace.cli.ending import ENDING, INTERRUPTED

__all__ = ["main"]


def main() -> None:
    """Run the command; exit with 0, 1 (an error), 2 (wrong use) or 130 (Ctrl-C)."""
    with ENDING.armed():
        # What it loads takes half a second, in which somebody may end it already.
        try:
            from headrace.cli.front import main as command  # noqa: PLC0415
        except KeyboardInterrupt:
            sys.exit(ENDING.status(INTERRUPTED))
        command()
