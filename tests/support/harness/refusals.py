"""Expect an error that names the line of the code that caused it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headrace
from headrace import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGE = Path(headrace.__file__).parent


@contextmanager
def refused(slug: str) -> Iterator[pytest.ExceptionInfo[HeadraceError]]:
    """Expect a refusal by slug, whose `where` is the line that was refused.

    The line is taken from the trace, in the file that holds the ``with``.
    """
    with pytest.raises(HeadraceError) as caught:
        yield caught
    first, *rest = (
        entry for entry in caught.traceback if Path(entry.path) != Path(__file__)
    )
    lines = [entry for entry in (first, *rest) if entry.path == first.path]
    assert not Path(first.path).is_relative_to(_PACKAGE)
    assert caught.value.slug == slug
    assert caught.value.where == f"{Path(first.path).name}:{lines[-1].lineno + 1}"
