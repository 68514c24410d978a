"""The README shows what is there: its pipelines load, and the long one is the file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.cli.load import load_pipeline

ROOT = Path(__file__).resolve().parents[2]
FRAUD = ROOT / "examples" / "fraud" / "pipeline.py"
LONGEST = 120


def blocks() -> list[str]:
    text = (ROOT / "README.md").read_text()
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def quoted(name: str) -> str:
    [found] = [block for block in blocks() if f'Pipeline("{name}")' in block]
    return found


def test_the_fraud_pipeline_is_quoted_as_it_is_and_is_read_in_one_look() -> None:
    assert quoted("fraud") == FRAUD.read_text()
    assert len(quoted("fraud").splitlines()) < LONGEST


@pytest.mark.parametrize(
    ("name", "outputs"),
    [
        ("large-payments", ["large"]),
        (
            "fraud",
            ["alerts", "suspects", "search", "scored", "late", "velocity", "too-late"],
        ),
    ],
)
def test_a_quoted_pipeline_is_one(
    name: str, outputs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What the file imports from beside itself is beside it here as well.
    monkeypatch.syspath_prepend(FRAUD.parent)
    monkeypatch.setenv("FRAUD_MODEL", str(FRAUD.with_name("model.json")))
    file = tmp_path / f"{name.replace('-', '_')}_quoted.py"
    file.write_text(quoted(name))

    made = load_pipeline(str(file))

    assert made.name == name
    assert [output.name for output in made.outputs] == outputs
