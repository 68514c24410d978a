"""Modules, functions and parameter lists stay small enough to read in one go."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.harness.house_tree import code, functions, name

MODULE_LINES = 400
FUNCTION_LINES = 50
PARAMETERS = 6

# A command's parameters are its options, and those are the user's, not a caller's.
COMMANDS = "src/headrace/cli/"

# So are those of a verb that says with words what others need a class for.
VERBS = {"join", "window"}


def module_faults(text: str) -> list[str]:
    lines = len(text.splitlines())
    return [f"{lines} lines"] if lines > MODULE_LINES else []


def python_faults(text: str, *, commands: bool = False) -> list[str]:
    """Say which functions are too long, docstrings left aside, or ask too much."""
    found = []
    for function in functions(ast.parse(text)):
        body = function.body[1:] if ast.get_docstring(function) else function.body
        lines = (function.end_lineno or 0) - body[0].lineno + 1 if body else 0
        if lines > FUNCTION_LINES:
            found.append(f"{function.name} has {lines} lines")
        given = function.args
        parameters = [a.arg for a in (*given.posonlyargs, *given.args)]
        if parameters and parameters[0] in {"self", "cls"}:
            del parameters[0]
        count = len(parameters) + len(given.kwonlyargs)
        if count > PARAMETERS and not commands and function.name not in VERBS:
            found.append(f"{function.name} has {count} parameters")
    return found


_JAVA_TEXT = re.compile(
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/",
    re.DOTALL,
)
_JAVA_METHOD = re.compile(
    r"(?P<before>[\w>\]?]\s+)?\b(?P<name>\w+)\s*\((?P<parameters>[^()]*)\)"
    r"\s*(?:throws[\w\s.,]+)?\{"
)
_JAVA_WORDS = {"if", "for", "while", "switch", "catch", "synchronized", "try"}


def java_methods(text: str) -> Iterator[tuple[str, int, int]]:
    """Give each method's name, the lines of its body and its parameters."""
    # Texts and comments may hold brackets; only their line breaks are kept.
    bare = _JAVA_TEXT.sub(lambda m: "\n" * m.group().count("\n"), text)
    bare = re.sub(r"@\w+(\([^()]*\))?", "", bare)
    for found in _JAVA_METHOD.finditer(bare):
        if found["name"] in _JAVA_WORDS:
            continue
        if re.search(r"\bnew\s+[\w.]*$", bare[: found.start("name")]):
            continue
        depth, end = 1, found.end()
        while depth and end < len(bare):
            depth += {"{": 1, "}": -1}.get(bare[end], 0)
            end += 1
        parameters = re.sub(r"<[^()]*?>", "", found["parameters"])
        count = len(parameters.split(",")) if parameters.strip() else 0
        # What stands in brackets behind a record's name is its fields, and what
        # follows is a class.
        is_record = re.search(r"\brecord\s+$", bare[: found.start("name")])
        lines = 0 if is_record else bare.count("\n", found.end(), end)
        yield found["name"], lines, count


def java_faults(text: str) -> list[str]:
    found = []
    for method, lines, parameters in java_methods(text):
        if lines > FUNCTION_LINES:
            found.append(f"{method} has {lines} lines")
        if parameters > PARAMETERS:
            found.append(f"{method} has {parameters} parameters")
    return found


def faults(path: Path) -> list[str]:
    text = path.read_text()
    if path.suffix == ".java":
        return module_faults(text) + java_faults(text)
    commands = name(path).startswith(COMMANDS)
    return module_faults(text) + python_faults(text, commands=commands)


@pytest.mark.parametrize("path", code(".py", ".java"), ids=name)
def test_a_module_is_small(path: Path) -> None:
    assert not faults(path)


def test_a_long_module_is_caught() -> None:
    assert not module_faults("x\n" * 400)
    assert module_faults("x\n" * 401)


def test_a_long_function_is_caught() -> None:
    def function(lines: int) -> str:
        return 'def f():\n    """Say\n\n    much.\n    """\n' + "    x = 1\n" * lines

    assert not python_faults(function(50))
    assert python_faults(function(51)) == ["f has 51 lines"]


def test_a_seventh_parameter_is_caught() -> None:
    method = "class C:\n def f(self, a, b, c, *, d, e, f{}): pass"

    assert not python_faults(method.format(""))
    assert python_faults(method.format(", g")) == ["f has 7 parameters"]
    assert not python_faults(method.format(", g"), commands=True)


def test_a_long_java_method_is_caught() -> None:
    def method(lines: int) -> str:
        return (
            "class C {\n @Override\n public Map<String, Long> f(int a)\n throws E {\n"
            + ' if (a) { s = "{"; } // {\n' * lines
            + " }\n}\n"
        )

    assert not java_faults(method(49))
    assert java_faults(method(51)) == ["f has 52 lines"]


def test_a_record_may_be_longer_than_a_method() -> None:
    lines = " int a;\n" * 60

    assert not java_faults(f"record R(int a) {{\n{lines}}}")
    assert java_faults(f"record R(int a) {{\n int f() {{\n{lines}}} }}")


def test_a_seventh_java_parameter_is_caught() -> None:
    method = "class C {{ C(Map<K, V> a, int b, int c, int d, int e, int f{}) {{ }} }}"

    assert not java_faults(method.format(""))
    assert java_faults(method.format(", int g")) == ["C has 7 parameters"]
