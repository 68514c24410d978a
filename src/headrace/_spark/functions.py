"""Let the functions of a user's own files reach Spark's Python workers."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from pyspark import cloudpickle


def carry_functions(directory: Path) -> None:
    """Send what the modules of a directory define by value from now on.

    By default a worker imports a function's module by its name. It would find it
    neither on another machine nor, when the pipeline was started from elsewhere, on
    this one. What is installed as a package is imported still.

    Args:
        directory: Where the user's files are; its packages count too.

    Example:
        ``carry_functions(Path("fraud.py").parent)``, after the file was loaded.
    """
    wanted = directory.resolve()
    for name, module in list(sys.modules.items()):
        top = sys.modules.get(name.partition(".")[0])
        if top is not None and _home(top) == wanted:
            cloudpickle.register_pickle_by_value(module)


def _home(module: ModuleType) -> Path | None:
    """Give the directory that a top-level module was imported from."""
    file = getattr(module, "__file__", None)
    if not file:
        return None
    path = Path(file).resolve()
    return path.parent.parent if path.name == "__init__.py" else path.parent
