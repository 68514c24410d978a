"""The page of what is tested where names real tests, and says when they run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from support.harness.house_tree import ROOT

PAGE = ROOT / "docs" / "testing.md"
_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)


def named(text: str) -> Iterator[tuple[str, str]]:
    """Give each file that a text names, with the test in it or nothing."""
    for found in _TEST.finditer(text):
        yield found[1], found[2] or ""


def defined(source: str) -> dict[str, str]:
    """Give the tests of a module, and when each runs, in the words of the page."""
    tree = ast.parse(source)
    marks = [
        ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    found = {}
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        own = [ast.unparse(one) for one in node.decorator_list]
        if any(text.endswith("pytest.mark.long") for text in [*own, *marks]):
            found[node.name] = "long"
        elif isinstance(node, ast.FunctionDef) and _takes_drivers(node):
            found[node.name] = "within, long"
        else:
            found[node.name] = "always"
    return found


def _takes_drivers(function: ast.FunctionDef) -> bool:
    return any(given.arg == "drivers" for given in function.args.args)


def faults(page: str, read: dict[str, str]) -> list[str]:
    """Say what a page tells wrongly of modules, by their paths and sources."""
    found = []
    for path, test in named(page):
        if path not in read:
            found.append(f"{path} is not there")
        elif test and test not in defined(read[path]):
            found.append(f"{path} has no {test}")
    for row in _ROW.findall(page):
        *_, runs, _ = (cell.strip() for cell in row.split("|"))
        for path, test in named(row):
            meant = defined(read.get(path, "")).get(test, runs)
            if not runs.startswith(meant):
                found.append(f"{test} runs {meant}, and the page says: {runs}")
    return found


def sources(*rooms: Path) -> dict[str, str]:
    found = [path for room in rooms for path in room.rglob("*.py")]
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in found}


def test_each_test_that_the_page_names_is_there_and_runs_when_it_says() -> None:
    assert not faults(PAGE.read_text(), sources(ROOT / "tests"))


def test_each_file_of_fault_tests_is_on_the_page() -> None:
    on_page = {path for path, _ in named(PAGE.read_text())}
    there = {path for path in sources(ROOT / "tests" / "faults") if "/test_" in path}

    assert there
    assert not there - on_page


def test_a_page_that_is_wrong_is_caught() -> None:
    source = """
@pytest.mark.long
def test_slow(): ...
def test_quick(): ...
def test_both(drivers): ...
"""
    read = {"tests/a/test_a.py": source}

    def row(test: str, runs: str) -> str:
        return f"| x | `tests/a/test_a.py::{test}` | {runs} |"

    assert not faults(row("test_slow", "long"), read)
    assert not faults(row("test_quick", "always"), read)
    assert not faults(row("test_both", "within, long"), read)
    assert faults(row("test_slow", "always"), read)
    assert faults(row("test_quick", "long"), read)
    assert faults(row("test_both", "always"), read)
    assert faults(row("test_gone", "always"), read)
    assert faults("see `tests/a/test_b.py`", read)
