"""A mistake in Python and one in Java are noticed; `make mutants` tries many more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHEAP = ["view-of-half-a-batch", "watermark-of-the-fastest"]


def test_the_tests_notice_a_mistake_in_either_language() -> None:
    tried = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "mutants.py"), *CHEAP],
        capture_output=True,
        text=True,
        check=False,
    )

    assert tried.returncode == 0, tried.stdout + tried.stderr
    assert "2 of 2 mutants were caught" in tried.stdout
