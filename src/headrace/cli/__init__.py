"""The ``headrace`` command: data on stdout, talk on stderr."""

from headrace.cli.main import main

__all__ = ["main"]
