"""The fraud demo as a newcomer runs it: each transaction once, whatever is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FRAUD = Path(__file__).resolve().parents[2] / "examples" / "fraud"
HEADRACE = Path(sys.executable).parent / "headrace"
DEMO = FRAUD / "demo.py"
ACCOUNTED = "every transaction is accounted for, and each alert is once"
SAME = "the alerts are those that plain Python computes of the same traffic"


def demo(home: Path, *command: str) -> str:
    """Run a demo to its end, with servers of its own; give what it says."""
    done = subprocess.run(
        command,
        env=os.environ | {"HEADRACE_STATE_DIR": str(home / "state")},
        capture_output=True,
        text=True,
        check=False,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.timeout(1600)
def test_the_demo_accounts_for_all_and_finds_the_fraud(open_tmp: Path) -> None:
    told = demo(open_tmp, str(HEADRACE), "demo", "fraud", "--seconds", "15")

    assert ACCOUNTED in told
    assert SAME in told


@pytest.mark.long
@pytest.mark.timeout(1600)
def test_the_alerts_are_the_same_though_driver_broker_and_connect_are_killed(
    open_tmp: Path,
) -> None:
    victims = ("driver", "kafka", "connect")
    kills = [f"--kill={victim}" for victim in victims]
    command = (sys.executable, str(DEMO), "--seconds", "60", "--rate", "200", *kills)
    told = demo(open_tmp, *command)

    assert ACCOUNTED in told
    assert SAME in told


@pytest.mark.long
@pytest.mark.timeout(1600)
def test_a_new_model_is_replayed_over_the_same_traffic_and_compared(
    open_tmp: Path,
) -> None:
    model = open_tmp / "model.json"
    training = (sys.executable, str(FRAUD / "training.py"), "--seed", "8")
    subprocess.run([*training, "--version", "v2", "--out", str(model)], check=True)
    command = (sys.executable, str(DEMO), "--seconds", "30", "--replay", str(model))
    told = demo(open_tmp, *command)

    assert told.count(SAME) == 2
    assert "replayed with model v2" in told
