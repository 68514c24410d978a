"""Imports point one way, from the rooms above to the rooms below."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.harness.house_tree import PACKAGE, ROOT, name

LAYERS = (
    {"errors", "durations"},
    {"settings", "serving"},
    {"artifacts"},
    {"schema", "_spark"},
    {"log", "sources", "sinks", "delivery", "cdc", "windows", "joins", "patterns"},
    {"event"},
    {"remote", "trees"},
    {"plan"},
    {"stream"},
    {"table"},
    {"pipeline"},
    {"runtime", "eventstore", "views"},
    {"ops", "services"},
    {"console", "lab", "testing", "cli"},
)
FLOOR = {room: floor for floor, rooms in enumerate(LAYERS) for room in rooms}


def room_of(module: str) -> str:
    """Give the room of a module, such as ``log`` for ``headrace.log.cluster``."""
    return module.split(".")[1]


def imported(source: str, module: str, *, package: bool = False) -> Iterator[str]:
    """Give the modules of ours that a source imports, wherever in it that happens."""
    inside = module.split(".") if package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = inside[: len(inside) + 1 - node.level] if node.level else []
            origin = ".".join([*above, *filter(None, [node.module])])
            names = [
                f"{origin}.{alias.name}" if origin == "headrace" else origin
                for alias in node.names
            ]
        elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
            names = [str(a.value) for a in node.args if isinstance(a, ast.Constant)]
        yield from (n for n in names if n.split(".")[0] == "headrace")


def faults(source: str, module: str, *, package: bool = False) -> list[str]:
    """Say which imports of a module go up or sideways."""
    here = room_of(module)
    if here not in FLOOR:
        return [f'room "{here}" has no place in the order of the rooms']
    found = []
    for target in imported(source, module, package=package):
        there = room_of(target) if "." in target else "headrace"
        if there == here:
            continue
        if there not in FLOOR:
            found.append(f"{module} imports {target}, which is no room")
        elif FLOOR[there] > FLOOR[here]:
            found.append(f"{module} imports {target}, which stands above it")
        elif FLOOR[there] == FLOOR[here]:
            found.append(f"{module} imports {target}, which stands beside it")
    return found


def modules() -> Iterator[tuple[Path, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        # The package itself is the front door, and may name every room.
        if dotted != "headrace":
            yield path, dotted


def test_no_room_imports_one_above_or_beside_it() -> None:
    found = [
        fault
        for path, module in modules()
        for fault in faults(
            path.read_text(), module, package=path.name == "__init__.py"
        )
    ]

    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("headrace.errors", "import headrace.settings"),
        ("headrace.settings", "from headrace.artifacts import fetch"),
        ("headrace.artifacts.fetch", "from headrace._spark.session import session"),
        ("headrace._spark.session", "from headrace.services import Stack"),
        ("headrace.log.topics", "from headrace.cdc import postgres"),
        ("headrace.log.topics", "def f():\n    from headrace.cli import main"),
        ("headrace.log.topics", "from ..services import Stack"),
        ("headrace.log.topics", "from .. import services"),
        ("headrace.log.topics", "from headrace import services"),
        ("headrace.log.topics", "from headrace import HeadraceError"),
        ("headrace.log.topics", "import headrace"),
        ("headrace.services.kafka", 'import_module("headrace.cli.front")'),
        ("headrace.durations", "from headrace.errors import StepError"),
        ("headrace.sources.kafka", "from headrace.event import event_type"),
        ("headrace.plan.steps", "from headrace.stream import Stream"),
        ("headrace.stream", "from headrace.pipeline import Pipeline"),
        ("headrace.pipeline", "from headrace.runtime.run import start"),
        ("headrace.runtime.run", "from headrace.testing import Rig"),
        ("headrace.attic.box", "import os"),
    ],
)
def test_an_import_that_goes_up_or_sideways_is_caught(module: str, line: str) -> None:
    assert faults(line, module)


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("headrace.cli.front", "from headrace.services import Stack"),
        ("headrace.services.kafka", "def f():\n    from headrace.log import topics"),
        ("headrace.log.topics", "from .cluster import administer"),
        ("headrace.log.topics", "from headrace import errors"),
        ("headrace.stream", "from headrace.plan.steps import Step"),
        ("headrace.testing.rig", "from headrace.runtime.decoding import decoded"),
        ("headrace.errors", "from __future__ import annotations\nimport os"),
    ],
)
def test_an_import_that_goes_down_is_not_caught(module: str, line: str) -> None:
    assert not faults(line, module)


def loaded_by(statement: str) -> dict[str, list[str]]:
    """Give what is loaded and what has changed after a statement in a new Python."""
    program = f"""\
import json, os, sys, threading
before = dict(os.environ)
{statement}
json.dump({{
    "modules": sorted({{name.partition(".")[0] for name in sys.modules}}),
    "changed": sorted(set(before.items()) ^ set(os.environ.items())),
    "threads": [t.name for t in threading.enumerate()][1:],
}}, sys.stdout)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not done.stderr
    return dict(json.loads(done.stdout))


HEAVY = {"confluent_kafka", "jgo", "psycopg", "py4j", "pyspark", "redis", "requests"}


@pytest.mark.parametrize("module", ["headrace", "headrace.cli.front"])
def test_nothing_happens_at_import(module: str) -> None:
    after = loaded_by(f"import {module}")

    assert not HEAVY.intersection(after["modules"])
    assert not after["changed"]
    assert not after["threads"]


def test_what_happens_at_import_is_seen() -> None:
    after = loaded_by("import pyspark; os.environ['HEADRACE_X'] = '1'")

    assert HEAVY.intersection(after["modules"])
    assert after["changed"]


def test_every_module_stands_in_a_room() -> None:
    assert len(list(modules())) > 30, name(PACKAGE)


def imported_tests(source: str) -> list[str]:
    """Give the modules of tests that a module imports: what they share is elsewhere."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(node.module or "")
    return [n for n in found if n.startswith("test_") or n == "conftest"]


def test_no_test_is_imported() -> None:
    modules = sorted((ROOT / "tests").rglob("*.py"))
    found = {name(path): imported_tests(path.read_text()) for path in modules}

    assert len(found) > 200
    assert not [path for path, tests in found.items() if tests]


def test_a_test_that_is_imported_is_caught() -> None:
    assert imported_tests("def f():\n    from test_plan import Ran") == ["test_plan"]
    assert imported_tests("import conftest") == ["conftest"]
    assert not imported_tests("from support.harness.rig import Job\nimport pytest")
