"""Examples in the documents can be used as they stand, and the changelog is whole."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from headrace.settings import Settings
from support.harness.house_tree import ROOT, files, name

_ENTRY = re.compile(r"^- .+?(?=^- |^#|\Z)", re.MULTILINE | re.DOTALL)
_CHECKPOINT = re.compile(r" Checkpoint: (none|restart|rebuild)$")


def blocks(markdown: str, language: str) -> list[str]:
    """Give the blocks of code of one language."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$", markdown, re.MULTILINE | re.DOTALL
    )


def unfinished_entries(changelog: str) -> list[str]:
    """Give the entries that do not say what they ask of a running pipeline."""
    _, _, versions = changelog.partition("\n## ")
    entries = [entry.strip() for entry in _ENTRY.findall(versions)]
    return [entry for entry in entries if not _CHECKPOINT.search(entry)]


@pytest.mark.parametrize("page", [p for p in files() if p.suffix == ".md"], ids=name)
def test_python_in_a_document_is_python(page: Path) -> None:
    for block in blocks(page.read_text(), "python"):
        compile(block, name(page), "exec")


def test_the_settings_in_the_documents_are_settings() -> None:
    found = blocks((ROOT / "docs" / "settings.md").read_text(), "toml")

    assert found
    for block in found:
        assert set(tomllib.loads(block)) <= set(Settings.model_fields)


def test_every_setting_is_documented_with_its_variable() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()

    for setting in Settings.model_fields:
        assert f"| `{setting}` | `HEADRACE_{setting.upper()}` |" in page


def test_every_change_says_what_becomes_of_checkpoints() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()

    assert "\n## [Unreleased]\n" in changelog
    assert not unfinished_entries(changelog)


def test_a_change_that_says_nothing_about_checkpoints_is_caught() -> None:
    good = "# Changelog\n\n- An introduction.\n\n## [Unreleased]\n\n"
    good += "- One,\n  over two lines. Checkpoint: none\n- Two. Checkpoint: rebuild\n"

    assert not unfinished_entries(good)
    assert unfinished_entries(good + "- Three.\n") == ["- Three."]
    assert unfinished_entries(good + "- Three. Checkpoint: maybe\n")


def test_blocks_of_code_are_found() -> None:
    page = "```python\nx = 1\n```\n\n```text\nx = \n```\n\n```python\ny = 2\n```\n"

    assert blocks(page, "python") == ["x = 1\n", "y = 2\n"]
