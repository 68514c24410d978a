"""A demo is found by its name, and one that there is not is refused."""

from __future__ import annotations

import pytest

from headrace import HeadraceError
from headrace.cli.demo import DEMOS, demo_file


@pytest.mark.parametrize("name", sorted(DEMOS))
def test_a_demo_is_where_its_name_leads(name: str) -> None:
    assert demo_file(name).is_file()


def test_a_name_without_a_demo_is_refused() -> None:
    with pytest.raises(HeadraceError, match="demo-unknown") as refused:
        demo_file("frauds")

    assert "fraud" in str(refused.value)
