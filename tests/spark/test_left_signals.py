"""A session leaves Ctrl-C to whom it belongs."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import signal

from headrace._spark import end, session
from headrace._spark.signals import signals_left_alone

before = signal.getsignal(signal.SIGINT)
with signals_left_alone():
    spark = session("left", jars=())
left = signal.getsignal(signal.SIGINT) is before
end(spark)
spark = session("taken", jars=())
taken = signal.getsignal(signal.SIGINT) is not before
end(spark)
assert (left, taken) == (True, True), (left, taken)
"""


def test_a_session_takes_ctrl_c_unless_it_is_held_back() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert done.returncode == 0, done.stderr
