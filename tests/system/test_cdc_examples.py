"""The examples do what they say."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.services import Stack

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(program: str, stack: Stack) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, EXAMPLES / program, "--dir", stack.run_directory.path],
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_an_application_that_writes_twice_loses_what_a_captured_one_does_not(
    capture_stack: Stack,
) -> None:
    done = run("dual_write/compare.py", capture_stack)

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "naive: 20 orders, 19 in the log, lost: [7]",
        "captured: 20 orders, 20 in the log, lost: []",
    ]


@pytest.mark.skipif(
    importlib.util.find_spec("sqlalchemy") is None, reason="SQLAlchemy is not here"
)
def test_the_shops_orders_and_events_never_part(capture_stack: Stack) -> None:
    done = run("outbox/shop.py", capture_stack)

    assert done.returncode == 0, done.stderr
    events = [line.split(" ", 1) for line in done.stdout.splitlines()]
    assert [int(key) for key, _ in events] == list(range(10))
    assert [json.loads(value) for _, value in events] == [
        {
            "order_id": number,
            "item": "tea" if number < 5 else "coffee",
            "price": "12.10",
        }
        for number in range(10)
    ]
