"""Hold window steps against the model, on as many streams as are asked for.

Usage:
    python tests/spark/window_soak.py --seed 1 --cases 1000
    python tests/spark/window_soak.py --kind sessions --seed 7 --case 42

The first tries each kind of window on so many streams, a hundred in a query; queries
take their seeds one after another. The second repeats one stream of a seed by itself.
The run ends with status 1 if there was a difference.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession
from window_cases import KINDS, History, seeded
from window_verdict import try_history, written_step

from headrace._spark import end, session

CASES = 100


def again(kind: str, seed: int) -> str:
    """Say how to come to a history again."""
    command = f"python tests/spark/window_soak.py --kind {kind} --seed {seed}"
    return f"{kind}, seed {seed}; one case: {command} --case N"


def tried(
    spark: SparkSession, home: Path, kind: str, seed: int, history: History
) -> bool:
    began = time.monotonic()
    try:
        try_history(spark, home, history, again(kind, seed))
    except AssertionError as difference:
        print(difference, flush=True)  # noqa: T201 - what a command says
        return False
    took = f"{time.monotonic() - began:.1f} s"
    line = f"{kind}, seed {seed}: agrees, {took}; {written_step(history.step)}"
    print(line, flush=True)  # noqa: T201
    return True


def plan(options: argparse.Namespace) -> list[tuple[str, int, History]]:
    kinds = [options.kind] if options.kind else KINDS
    seed: int = options.seed
    if options.case is not None:
        history = seeded(seed, kinds[0], options.case + 1).only([options.case])
        return [(kinds[0], seed, history)]
    found = []
    for first in range(0, options.cases, CASES):
        cases = min(CASES, options.cases - first)
        found += [(kind, seed, seeded(seed, kind, cases)) for kind in kinds]
        seed += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--case", type=int)
    options = parser.parse_args()
    if options.case is not None and not options.kind:
        parser.error("--case needs --kind")
    top = tempfile.mkdtemp(prefix="headrace-soak-")
    spark = session("headrace-soak")
    try:
        agree = []
        for each in plan(options):
            home = Path(tempfile.mkdtemp(dir=top))
            agree.append(tried(spark, home, *each))
            # What Spark still writes goes with the whole, once Spark has ended.
            shutil.rmtree(home, ignore_errors=True)
    finally:
        end(spark)
        shutil.rmtree(top)
    return 0 if all(agree) else 1


if __name__ == "__main__":
    sys.exit(main())
