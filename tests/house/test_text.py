"""What no file of the tree may hold: hosts in locks, paths of a machine, promises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.harness.house_tree import ROOT, code, files, name

_HOST = re.compile(r"https?://")
_MACHINE_PATH = re.compile(r"(?<![\w./~-])/(?:root|work|tmp/lab)/")
_PROMISE = re.compile(r"\b(?:TODO|FIXME|XXX|NotImplementedError)\b")
_EASY = re.compile(r"\b(?:simply|just)\b", re.IGNORECASE)
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


def hits(pattern: re.Pattern[str], text: str) -> list[str]:
    """Give the lines that hold what they should not."""
    return [line.strip() for line in text.splitlines() if pattern.search(line)]


def prose(markdown: str) -> str:
    """Give a page without its code, line breaks kept."""
    return _CODE.sub(lambda code: "\n" * code.group().count("\n"), markdown)


def is_lock(path: Path) -> bool:
    """Tell whether a file pins what is downloaded."""
    return path.suffix == ".lock" or path.stem.endswith("-lock")


def found_in(paths: list[Path], pattern: re.Pattern[str]) -> dict[str, list[str]]:
    texts = {name(path): path.read_text(errors="ignore") for path in paths}
    return {
        file: lines for file, text in texts.items() if (lines := hits(pattern, text))
    }


def test_no_lock_names_a_download_host() -> None:
    locks = [path for path in files() if is_lock(path)]

    assert {"artifacts.lock", "requirements.lock"} <= {path.name for path in locks}
    assert not found_in(locks, _HOST)


def test_no_file_holds_a_path_of_one_machine() -> None:
    assert not found_in(files(), _MACHINE_PATH)


def test_no_module_promises_what_it_does_not_do() -> None:
    product = [p for p in code(".py", ".java") if name(p).startswith(("src/", "jvm/"))]

    assert not found_in(product, _PROMISE)


@pytest.mark.parametrize("page", [p for p in files() if p.suffix == ".md"], ids=name)
def test_no_page_calls_a_step_easy(page: Path) -> None:
    assert not hits(_EASY, prose(page.read_text()))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (_HOST, '"resolved": "https:' + '//registry.example.org/x.tgz"'),
        (_MACHINE_PATH, "cache = /root" + "/.cache"),
        (_MACHINE_PATH, '"/work' + '/main"'),
        (_PROMISE, "    # TO" + "DO: later"),
        (_PROMISE, "raise NotImplemented" + "Error"),
        (_EASY, "Just run it."),
    ],
)
def test_what_no_file_may_hold_is_caught(pattern: re.Pattern[str], text: str) -> None:
    assert hits(pattern, "fine\n" + text) == [text.strip()]


def test_what_only_looks_alike_is_not_caught() -> None:
    assert not hits(_MACHINE_PATH, "network/work/x and src/root/ and ~/work/x")
    assert not hits(_PROMISE, "TODOS NotImplemented")
    assert not hits(_EASY, prose("adjust `just` the\n```\njust\n```\njustice"))


def test_locks_are_known_by_their_names() -> None:
    assert is_lock(ROOT / "web" / "package-lock.json")
    assert is_lock(ROOT / "requirements.lock")
    assert not is_lock(ROOT / "src" / "lock.py")
