"""The page on tables shows what happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.testing import Rig, captured

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tables.md"


def test_the_examples_run_one_after_another(spark: SparkSession) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    names: dict[str, Any] = {"__name__": "bank"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"block-{number}.py", "exec", dont_inherit=True), names)  # noqa: S102
    profile = names["Profile"]

    with Rig(names["bank"], spark) as rig:
        rig.feed(
            "bank.public.profiles",
            captured("insert", profile(1, "Rome", 250_000)),
            captured("insert", profile(2, "Oslo", 10)),
            captured("insert", profile(3, "Oslo", 15, "late")),
        )

        assert set(rig.table("profiles")) == {"1", "2", "3"}
        assert rig.table("rich") == {"1": (1, 250)}
        assert rig.table("cities") == {"Oslo": ("Oslo", 2, 0, 25, 12.5, 15, 1)}
    assert names["moved"].columns[0] == "op"
    assert names["known"].key == ("user_id",)
