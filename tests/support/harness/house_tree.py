"""The files of the repository, as the checks of the house read them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "src" / "headrace"
CODE_ROOMS = ("src", "jvm", "scripts", "examples")


def files() -> list[Path]:
    """Give every file of the repository: the committed ones and those about to be."""
    if not (ROOT / ".git").exists():
        found = (path for path in ROOT.rglob("*") if path.is_file())
        return sorted(path for path in found if not _is_hidden(path))
    # The tree may belong to another account, as in a container.
    git = ("git", "-c", "safe.directory=*")
    listed = subprocess.run(
        [*git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = (ROOT / name for name in listed.split("\0") if name)
    return sorted(path for path in found if path.is_file())


def _is_hidden(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    return any(part.startswith(".") or part == "__pycache__" for part in parts)


def code(*suffixes: str) -> list[Path]:
    """Give the modules that we wrote, tests left aside."""
    return [
        path
        for path in files()
        if path.suffix in suffixes and path.relative_to(ROOT).parts[0] in CODE_ROOMS
    ]


def name(path: Path) -> str:
    """Give a file's path as a reader writes it."""
    return path.relative_to(ROOT).as_posix()


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Give every function of a module, methods and nested ones too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
