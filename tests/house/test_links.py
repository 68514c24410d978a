"""Links inside the documents lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.harness.house_tree import files, name

_LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(markdown: str) -> set[str]:
    """Give the anchors of a page's headings, as they are commonly made."""
    headings = _HEADING.findall(re.sub(r"```.*?```", "", markdown, flags=re.DOTALL))
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in headings)
    return {re.sub(r"\s", "-", heading.strip()) for heading in plain}


def dead_links(page: Path) -> list[str]:
    """Give the links of a page to files or headings that are not there."""
    text = page.read_text()
    found = []
    for link in _LINK.findall(_CODE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (
            anchor and anchor not in anchors(target.read_text())
        ):
            found.append(link)
    return found


@pytest.mark.parametrize("page", [p for p in files() if p.suffix == ".md"], ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    assert not dead_links(page)


def test_a_dead_link_is_caught(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "other.md").write_text("# The other\n\n## What it's for: `x`\n")
    page.write_text(
        "[a](other.md) [b](other.md#the-other) [c](other.md#what-its-for-x)\n"
        "[d](mailto:x@example.org) `[e](code.md)`\n"
        "[f](gone.md) [g](other.md#gone) [h](#gone)\n"
    )

    assert dead_links(page) == ["gone.md", "other.md#gone", "#gone"]
