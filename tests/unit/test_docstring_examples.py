from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

import headrace

# Their examples call a JVM; tests/spark runs them.
NEED_SPARK = {"headrace._spark.bridge"}

MODULES = sorted(
    {
        found.name
        for found in pkgutil.walk_packages(headrace.__path__, "headrace.")
        if not found.name.endswith("__main__")
    }
    - NEED_SPARK
)


@pytest.fixture(autouse=True)
def nobodys_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the examples as somebody who has chosen nothing."""
    for name in list(os.environ):
        if name.startswith(("HEADRACE_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Give the module that a reader of the documentation would type examples into."""
    module = ModuleType("reader")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def run(module: ModuleType, reader: ModuleType) -> doctest.TestResults:
    """Run a module's examples in the reader's module, with its names at hand."""
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for example in doctest.DocTestFinder().find(module):
        for name, value in example.globs.items():
            # What a module says about itself, and to the compiler, is not the reader's.
            if not name.startswith("__") and name != "annotations":
                setattr(reader, name, value)
        example.globs = vars(reader)
        runner.run(example, clear_globs=False)
    return runner.summarize(verbose=False)


@pytest.mark.parametrize("module", ["headrace", *MODULES])
def test_the_examples_say_what_happens(module: str, reader: ModuleType) -> None:
    assert run(importlib.import_module(module), reader).failed == 0


@pytest.mark.parametrize("module", ["errors", "settings", "artifacts.lock"])
def test_there_are_examples(module: str, reader: ModuleType) -> None:
    assert run(importlib.import_module(f"headrace.{module}"), reader).attempted


def test_an_example_that_says_something_else_is_caught(
    reader: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = ModuleType("wrong")
    wrong.__doc__ = "Example:\n    >>> 1 + 1\n    3\n"

    assert run(wrong, reader).failed == 1
    assert "Expected:\n    3\nGot:\n    2" in capsys.readouterr().out


@pytest.mark.parametrize("module", sorted(NEED_SPARK))
def test_a_module_is_left_out_only_if_its_examples_need_spark(module: str) -> None:
    finder = doctest.DocTestFinder()
    found = finder.find(importlib.import_module(module))

    assert any("spark" in example.source for test in found for example in test.examples)
