"""Load a pipeline from a user's file."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path

from headrace.errors import HeadraceError, StepError
from headrace.pipeline import Pipeline


def load_pipeline(text: str) -> Pipeline:
    """Run a file and give its pipeline.

    Args:
        text: ``fraud.py``, or ``fraud.py:alerts`` where a file has several.

    Raises:
        StepError: [file-missing], [file-failed], [pipeline-missing],
            [pipeline-ambiguous].
    """
    name, _, wanted = text.partition(":")
    path = Path(name)
    if not path.is_file():
        raise StepError(
            "file-missing",
            f'there is no file "{name}"',
            hint="give the path of a Python file that declares a Pipeline.",
        )
    found = _pipelines(path)
    if wanted:
        found = [pipeline for pipeline in found if pipeline.name == wanted]
    if len(found) == 1:
        return found[0]
    if not found:
        raise StepError(
            "pipeline-missing",
            f'"{name}" declares no pipeline' + (f' "{wanted}"' if wanted else ""),
            hint='declare one at the top level: fraud = Pipeline("fraud").',
            where=name,
        )
    raise StepError(
        "pipeline-ambiguous",
        f'"{name}" declares {len(found)} pipelines',
        hint="name one: "
        + ", ".join(f"{name}:{pipeline.name}" for pipeline in found)
        + ".",
        where=name,
    )


def _pipelines(path: Path) -> list[Pipeline]:
    """Run the file as a module, with its own directory to import from."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise StepError(
            "file-missing",
            f'"{path}" is not a Python file',
            hint="its name ends in .py.",
        )
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))
    # Spark sends the user's functions to its workers by their module's name.
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except HeadraceError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise StepError(
            "file-failed",
            f"{path.name} stopped with {type(error).__name__}: {error}",
            hint="`headrace --debug` shows the whole trace.",
            where=f"{Path(last.filename).name}:{last.lineno}",
        ) from error
    unique = {id(value): value for value in vars(module).values()}
    return [value for value in unique.values() if isinstance(value, Pipeline)]
