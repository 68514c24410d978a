"""The page on pipelines shows what happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.cli.load import load_pipeline
from headrace.plan.explain import explain_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pipelines.md"


def blocks(language: str) -> list[str]:
    pattern = rf"^```{language}\n(.*?)^```$"
    return re.findall(pattern, PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    """Give the page's first example as the file that it is."""
    path = tmp_path / "sales.py"
    path.write_text(blocks("python")[0])
    return path


def test_the_pipeline_is_explained_as_the_page_says(sales: Path) -> None:
    (told,) = blocks("text")

    assert explain_text(load_pipeline(str(sales)).explain()) == told.rstrip()


def test_the_examples_run_one_after_another(spark: SparkSession) -> None:
    names: dict[str, Any] = {"__name__": "sales"}
    for number, block in enumerate(blocks("python")):
        exec(compile(block, f"block-{number}.py", "exec", dont_inherit=True), names)  # noqa: S102

    assert names["both"].columns == ["card_id", "made_at"]
    assert names["risky"].columns[-2:] == ["hour", "risk"]
    assert names["shortened"].columns == names["payments"].columns
    names["test_large_payments_are_told_apart"](spark)
