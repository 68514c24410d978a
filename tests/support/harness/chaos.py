"""Kill drivers in every phase, several times over, and the broker too; then count.

Usage, with `PYTHONPATH=tests`:
    python -m support.harness.chaos --seed 1

The same seed gives the same input and the same order of faults. The run ends with
status 0 if every event came out once and in order, for a reader of committed events
that read all the while.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from headrace.services import Stack
from support.harness.rig import PHASES, Ending, Job, watched


@dataclass(frozen=True)
class Fault:
    """One death: of the driver, the n-th time it comes to a phase, or of the broker."""

    phase: str | None
    times: int

    def __str__(self) -> str:
        return f"{self.phase}:{self.times}" if self.phase else "the broker dies"


def plan(seed: int, rounds: int, brokers: int) -> list[Fault]:
    """Give every phase `rounds` times and some deaths of the broker, shuffled."""
    choose = random.Random(seed)  # noqa: S311 - a plan, no secret
    once = {"lane-fenced", "ledger-read"}
    faults = [
        Fault(phase, 1 if phase in once else choose.randint(1, 4))
        for phase in PHASES
        for _ in range(rounds)
    ]
    # The driver of a broker's death goes on for some batches, and dies then.
    faults += [Fault(None, 10) for _ in range(brokers)]
    choose.shuffle(faults)
    return faults


class Broker:
    """The broker of a stack, killed and started again on its data."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    def restart_after(self, seconds: float) -> threading.Thread:
        """Kill it in a while, beside the driver that is running."""
        thread = threading.Thread(target=self._restart, args=(seconds,))
        thread.start()
        return thread

    def _restart(self, seconds: float) -> None:
        time.sleep(seconds)
        [kafka] = [s for s in self._stack.status() if s.process.startswith("kafka")]
        assert kafka.pid
        process = psutil.Process(kafka.pid)
        process.kill()
        process.wait(30)
        self._stack.up(["kafka"])


def run(job: Job, faults: list[Fault], broker: Broker, seed: int) -> list[str]:
    """Let the faults happen one after the other, then let the job finish."""
    reader = job.reader()
    choose = random.Random(seed)  # noqa: S311 - a plan, no secret
    for number, fault in enumerate(faults, 1):
        started = time.monotonic()
        if fault.phase:
            ending = watched(job.start(str(fault)), reader)
        else:
            death = broker.restart_after(choose.uniform(3, 15))
            ending = watched(job.start(f"before-spark-commit:{fault.times}"), reader)
            death.join()
        say(number, len(faults), fault, ending, time.monotonic() - started, reader.seen)
        if ending.status == 0:
            say_line("the input is at its end before the faults are")
            break
    for _ in range(5):
        last = watched(job.start(), reader)
        if last.status == 0:
            break
    every, tenth = (reader.accounts[topic] for topic in job.outputs)
    found = every.faults(job.sent) + tenth.faults(job.sent, every=10)
    reader.close()
    if last.status:
        found.append(f"the last driver ended with {last.status}: {last.told}")
    return found


def say(
    number: int, of: int, fault: Fault, ending: Ending, seconds: float, seen: int
) -> None:
    how = "killed" if ending.was_killed else f"status {ending.status} {ending.told}"
    say_line(f"{number}/{of} {fault}: {how}, {seconds:.0f} s, {seen} rows read")


def say_line(text: str) -> None:
    sys.stderr.write(text + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3, help="deaths in each phase")
    parser.add_argument("--brokers", type=int, default=3, help="deaths of the broker")
    parser.add_argument("--lanes", type=int, default=1)
    given = parser.parse_args()
    faults = plan(given.seed, given.rounds, given.brokers)
    home = Path(tempfile.mkdtemp(prefix="headrace-chaos-"))
    home.chmod(0o755)
    stack = Stack(home / "run")
    try:
        stack.up(["kafka"])
        # Each fault needs batches to strike in, and a few are left for the end.
        batches = sum(fault.times + 1 for fault in faults) + 5
        per_batch = given.events // batches
        job = Job(stack.address("kafka"), home / "job", "chaos", given.lanes, per_batch)
        job.feed(given.events, keys=1000, seed=given.seed)
        found = run(job, faults, Broker(stack), given.seed)
    finally:
        stack.down()
        shutil.rmtree(home)
    for fault in found[:20]:
        say_line(fault)
    verdict = "FAULTY" if found else "every event once, in order"
    say_line(f"seed {given.seed}: {verdict}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
