"""Each error a user can meet has a page, and each page an error."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

import pytest

from headrace import errors
from support.harness.house_tree import ROOT, code, functions

PAGES = ROOT / "docs" / "errors"
INDEX = PAGES / "README.md"
OURS = {name for name, value in vars(errors).items() if inspect.isclass(value)}
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")


def slugs(source: str) -> Iterator[str]:
    """Give the slugs of the errors that a source makes.

    Raises:
        ValueError: A slug is put together while the program runs.
    """
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).rpartition(".")[2]
        if called not in OURS:
            continue
        named = [word.value for word in node.keywords if word.arg == "slug"]
        for given in (*node.args[:1], *named):
            yield from _texts(given)


def _texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.Constant) and SLUG.fullmatch(str(node.value)):
        yield str(node.value)
    else:
        raise ValueError(f"line {node.lineno}: {ast.unparse(node)} is no slug")


def promised(source: str) -> Iterator[str]:
    """Give the slugs that docstrings promise, in square brackets under ``Raises``."""
    for function in functions(ast.parse(source)):
        _, _, raises = (ast.get_docstring(function) or "").partition("Raises:")
        yield from re.findall(r"\[([a-z0-9]+(?:-[a-z0-9]+)+)\]", raises)


SOURCES = [path.read_text() for path in code(".py")]
RAISED = {slug for source in SOURCES for slug in slugs(source)}


def test_every_error_has_a_page_and_every_page_an_error() -> None:
    pages = {page.stem for page in PAGES.glob("*.md")} - {INDEX.stem}

    assert RAISED
    assert RAISED - pages == set(), "errors without a page"
    assert pages - RAISED == set(), "pages without an error"


def test_docstrings_promise_no_error_that_is_never_raised() -> None:
    assert {slug for source in SOURCES for slug in promised(source)} <= RAISED


@pytest.mark.parametrize("slug", sorted(RAISED))
def test_a_page_is_headed_by_its_slug_and_says_what_to_do(slug: str) -> None:
    lines = (PAGES / f"{slug}.md").read_text().splitlines()

    assert lines[0] == f"# {slug}"
    assert 6 <= len(lines) <= 25
    assert any(line.startswith("**What to do.**") for line in lines)


def test_the_index_links_every_page() -> None:
    linked = re.findall(r"\]\((\S+?)\.md\)", INDEX.read_text())

    assert sorted(linked) == sorted(RAISED)


def test_a_slug_is_found_however_it_is_given() -> None:
    source = """
raise ServiceError("port-taken", "a fact")
raise errors.LogError(slug="topic-missing", fact="a fact")
raise MachineError("java-too-old" if old else "java-too-new", "a fact")
raise ValueError("not ours")
"""
    found = {"port-taken", "topic-missing", "java-too-old", "java-too-new"}

    assert set(slugs(source)) == found


@pytest.mark.parametrize("slug", ['f"port-{n}"', "name", '"Port taken"'])
def test_a_slug_that_no_page_can_have_is_caught(slug: str) -> None:
    with pytest.raises(ValueError, match="is no slug"):
        list(slugs(f'raise ServiceError({slug}, "a fact")'))


def test_a_promise_is_found_in_a_docstring() -> None:
    source = '''
def f():
    """Do it [as-said].

    Raises:
        LogError: [topic-missing] it is not there; [no-answer].
    """
'''
    assert list(promised(source)) == ["topic-missing", "no-answer"]
