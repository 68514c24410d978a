"""Hold window steps against the model, on as many streams as are asked for.

Usage, with `PYTHONPATH=tests`:
    python -m support.cases.window_soak --seed 1 --cases 1000
    python -m support.cases.window_soak --kind sessions --seed 7 --case 42
    python -m support.cases.window_soak --spread --kind hopping --seed 7 --case 42

The first tries each kind of window on so many streams, a hundred in a query; queries
take their seeds one after another. The second repeats one stream of a seed by itself.
With `--spread` the keys are hot, and spread, in the kinds of which they can be.
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

from headrace._spark import end, session
from support.cases.window_cases import KINDS, SPREADABLE, History, seeded, spread
from support.cases.window_verdict import try_history, written_step

CASES = 100
SOAK = "support.cases.window_soak"


def again(kind: str, seed: int, *, is_spread: bool = False) -> str:
    """Say how to come to a history again."""
    title = f"{kind}, spread" if is_spread else kind
    option = " --spread" if is_spread else ""
    command = f"python -m {SOAK}{option} --kind {kind} --seed {seed}"
    return f"{title}, seed {seed}; one case: {command} --case N"


def tried(
    spark: SparkSession, home: Path, kind: str, seed: int, history: History
) -> bool:
    began = time.monotonic()
    try:
        title = again(kind, seed, is_spread=history.parts > 0)
        try_history(spark, home, history, title)
    except AssertionError as difference:
        print(difference, flush=True)  # noqa: T201 - what a command says
        return False
    took = f"{time.monotonic() - began:.1f} s"
    parts = f", over {history.parts} parts" if history.parts else ""
    step = written_step(history.step)
    line = f"{kind}, seed {seed}: agrees, {took}; {step}{parts}"
    print(line, flush=True)  # noqa: T201
    return True


def plan(options: argparse.Namespace) -> list[tuple[str, int, History]]:
    make = spread if options.spread else seeded
    kinds: tuple[str, ...] = SPREADABLE if options.spread else KINDS
    if options.kind:
        kinds = (options.kind,)
    seed: int = options.seed
    if options.case is not None:
        history = make(seed, kinds[0], options.case + 1).only([options.case])
        return [(kinds[0], seed, history)]
    found = []
    for first in range(0, options.cases, CASES):
        cases = min(CASES, options.cases - first)
        found += [(kind, seed, make(seed, kind, cases)) for kind in kinds]
        seed += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--case", type=int)
    parser.add_argument("--spread", action="store_true")
    options = parser.parse_args()
    if options.case is not None and not options.kind:
        parser.error("--case needs --kind")
    if options.spread and options.kind not in {None, *SPREADABLE}:
        parser.error(f"--spread is for {', '.join(SPREADABLE)}")
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
