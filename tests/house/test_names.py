"""Modules are named for what they hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath

import pytest

from support.harness.house_tree import ROOT, files

EMPTY_WORDS = {"util", "utils", "helper", "helpers", "common", "manager", "base", "v2"}


def empty_words(path: PurePath) -> set[str]:
    """Give the words of a module's path that say nothing about what it holds."""
    words = set()
    for part in path.with_suffix("").parts:
        spread = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", part)
        words |= {word.lower() for word in re.split(r"[_\W]+", spread)}
    return words & EMPTY_WORDS


def test_no_module_is_named_for_nothing() -> None:
    modules = [
        path.relative_to(ROOT)
        for path in files()
        if path.suffix in {".py", ".java", ".svelte", ".ts", ".js"}
    ]
    found = {str(path): words for path in modules if (words := empty_words(path))}

    assert modules
    assert not found


@pytest.mark.parametrize(
    "path",
    [
        "src/headrace/utils.py",
        "src/headrace/log/kafka_helpers.py",
        "src/headrace/common/topics.py",
        "src/headrace/base.py",
        "jvm/src/io/headrace/operators/StateManager.java",
        "src/headrace/session_v2.py",
    ],
)
def test_a_name_that_says_nothing_is_caught(path: str) -> None:
    assert empty_words(PurePath(path))


@pytest.mark.parametrize(
    "path", ["src/headrace/log/database.py", "jvm/KeyedRows.java", "base64.py"]
)
def test_a_name_that_contains_such_a_word_is_not_caught(path: str) -> None:
    assert not empty_words(PurePath(path))


# A package's own file is known by the package's name, a conftest by nobody.
NAMELESS = {"__init__", "conftest"}


def shared_names(paths: Iterable[PurePath]) -> set[str]:
    """Give the names that several modules have, of those that a search would find."""
    modules = (path for path in paths if path.suffix == ".py")
    named = Counter(path.stem for path in modules if path.stem not in NAMELESS)
    return {name for name, times in named.items() if times > 1}


def test_no_two_modules_of_the_tests_have_one_name() -> None:
    rooms = (ROOT / "tests", ROOT / "examples" / "fraud")
    paths = [path for path in files() if any(room in path.parents for room in rooms)]

    assert paths
    assert not shared_names(paths)


def test_a_name_that_two_modules_have_is_caught() -> None:
    paths = ["tests/faults/bank.py", "examples/fraud/bank.py", "tests/unit/conftest.py"]

    assert shared_names(map(PurePath, [*paths, "tests/conftest.py"])) == {"bank"}
