"""Run the tests on two cores, so that neither idles at the end.

The tests are cut into pieces that take about as long as each other, by the times of an
earlier run (`tests/times.json`); each piece is one pytest with its own Spark and its
own servers, and two run at a time, the longest first. At the end stand the time of
each piece and the ten slowest tests.

    python scripts/run_tests.py              everything but what is marked long
    python scripts/run_tests.py --quick      what needs neither servers nor Spark
    python scripts/run_tests.py --only joins the files whose names hold a word
    python scripts/run_tests.py --record     write the times down afterwards
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIMES = ROOT / "tests" / "times.json"
BIN = Path(sys.executable).parent
AT_ONCE = 2
SLOWEST = 10
# What a file takes of which nothing is known.
UNKNOWN_SECONDS = 5.0
# What each further piece costs: a Spark, or servers, of its own.
START_SECONDS = 15.0


@dataclass(frozen=True)
class Part:
    """Tests that share what is slow to start: a directory, or some files of it."""

    name: str
    directory: str
    pieces: int = 1
    files: tuple[str, ...] = ("test_*.py",)

    def found(self) -> set[Path]:
        """Return its test files."""
        directory = ROOT / "tests" / self.directory
        return {path for glob in self.files for path in directory.glob(glob)}


PARTS = (
    # These share a Connect whose captures are broken on purpose.
    Part("captures", "system", files=("test_c*.py", "test_mariadb*.py")),
    Part("system", "system"),
    Part("faults", "faults", pieces=3),
    Part("spark", "spark", pieces=3),
    Part("unit", "unit"),
    Part("house", "house"),
)
QUICK = ("unit", "house")


@dataclass
class Piece:
    """What one process does; `files` is empty where it is not pytest."""

    name: str
    expected: float
    files: Sequence[Path] = ()
    command: Sequence[str] = ()
    seconds: float = 0.0
    status: int | None = None
    tests: dict[str, float] = field(default_factory=dict)

    def words(self, report: Path) -> list[str]:
        """Return its command, which writes a report to a file."""
        if self.command:
            return [*self.command]
        quiet = ["--durations-min=600", f"--junitxml={report}"]
        total = ["-o", "junit_duration_report=total"]
        files = [str(path.relative_to(ROOT)) for path in sorted(self.files)]
        return [str(BIN / "pytest"), *quiet, *total, *files]


def known_times() -> dict[str, float]:
    """Return the seconds of each file in the run that was written down."""
    return dict(json.loads(TIMES.read_text())) if TIMES.exists() else {}


def cut(part: Part, files: set[Path], times: dict[str, float]) -> Iterator[Piece]:
    """Cut the files of a part into pieces of about the same length."""

    def seconds(path: Path) -> float:
        return times.get(str(path.relative_to(ROOT)), UNKNOWN_SECONDS)

    pieces = [Piece(part.name, START_SECONDS, []) for _ in range(part.pieces)]
    for path in sorted(files, key=lambda path: (-seconds(path), path)):
        least = min(pieces, key=lambda piece: piece.expected)
        least.files = [*least.files, path]
        least.expected += seconds(path)
    used = [piece for piece in pieces if piece.files]
    for number, piece in enumerate(used, 1):
        if len(used) > 1:
            piece.name = f"{part.name} {number}"
        yield piece


def planned(only: str | None, *, quick: bool) -> list[Piece]:
    """Return what to run, in the order in which it begins."""
    times, taken = known_times(), set[Path]()
    pieces: list[Piece] = []
    for part in PARTS:
        files = part.found() - taken
        taken |= files
        if only:
            word = only.lower().rstrip("s")
            files = {path for path in files if word in path.stem}
        if not quick or part.name in QUICK:
            pieces += cut(part, files, times)
    pieces.sort(key=lambda piece: -piece.expected)
    if only:
        return pieces
    lint = Piece("lint", 0, command=["make", "--no-print-directory", "lint"])
    script = str(ROOT / "scripts" / "make_archives.py")
    archives = Piece("class archives", 0, command=[sys.executable, script])
    return [lint, *pieces] if quick else [archives, lint, *pieces]


class Run:
    """Pieces that are being run, some at a time."""

    def __init__(self, pieces: Sequence[Piece], reports: Path) -> None:
        self._left = list(pieces)
        self._reports = reports
        self._lock = threading.Lock()
        self._processes: list[subprocess.Popen[str]] = []

    def finish(self) -> None:
        """Run all of them; return when the last one has ended."""
        threads = [threading.Thread(target=self._work) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            self._left.clear()
            for process in self._processes:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGINT)
            raise

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._left:
                    return
                piece = self._left.pop(0)
            self._run(piece)

    def _run(self, piece: Piece) -> None:
        say(f"-- {piece.name} begins")
        report = self._reports / f"{piece.name.replace(' ', '-')}.xml"
        began = time.monotonic()
        with subprocess.Popen(
            piece.words(report),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # Ctrl-C is for this program, which passes it on once.
            start_new_session=True,
        ) as process:
            self._processes.append(process)
            assert process.stdout  # noqa: S101 - it was asked for above
            for line in process.stdout:
                say(line.rstrip())
        piece.status, piece.seconds = process.returncode, time.monotonic() - began
        if report.exists():
            piece.tests = durations(report)
        say(f"-- {piece.name} took {piece.seconds:.0f} s, exit {piece.status}")


def durations(report: Path) -> dict[str, float]:
    """Return the seconds of each test of a report, by file and name."""
    found: dict[str, float] = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it
        # A dotted path: directories, the module, and perhaps a class.
        path: list[str] = []
        for part in case.get("classname", "").split("."):
            path.append(part)
            if part.startswith("test_"):
                break
        name = f"{'/'.join(path)}.py::{case.get('name')}"
        found[name] = found.get(name, 0.0) + float(case.get("time", 0))
    return found


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


def summary(pieces: Sequence[Piece], seconds: float) -> None:
    """Print what the pieces and the slowest tests took."""
    every: dict[str, float] = {}
    say("")
    for piece in pieces:
        every.update(piece.tests)
        passed = "passed" if piece.status == 0 else f"FAILED ({piece.status})"
        say(f"{piece.name:16}{piece.seconds:7.0f} s  {len(piece.tests):5}  {passed}")
    busy = sum(piece.seconds for piece in pieces) / (AT_ONCE * seconds)
    say(f"{'all':16}{seconds:7.0f} s  {len(every):5}  both cores used for {busy:.0%}")
    say(f"\nthe {SLOWEST} slowest tests")
    for test, took in sorted(every.items(), key=lambda test: -test[1])[:SLOWEST]:
        say(f"{took:7.1f} s  {test}")


def record(pieces: Sequence[Piece]) -> None:
    """Write down what each file took."""
    files: dict[str, float] = {}
    for piece in pieces:
        for test, took in piece.tests.items():
            file = test.partition("::")[0]
            files[file] = files.get(file, 0.0) + took
    rounded = {name: round(took, 1) for name, took in sorted(files.items())}
    TIMES.write_text(json.dumps(rounded, indent=2) + "\n")


def main() -> int:
    """Run what was chosen; return 1 if anything of it failed."""
    parser = argparse.ArgumentParser(description="Run the tests on two cores.")
    parser.add_argument("--only", metavar="WORD")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--record", action="store_true")
    chosen = parser.parse_args()
    pieces = planned(chosen.only, quick=chosen.quick)
    if not pieces:
        say(f'no test file has "{chosen.only}" in its name')
        return 2
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="headrace-reports-") as reports:
        try:
            Run(pieces, Path(reports)).finish()
        except KeyboardInterrupt:
            return 130
    summary(pieces, time.monotonic() - began)
    if chosen.record:
        record(pieces)
    return int(any(piece.status != 0 for piece in pieces))


if __name__ == "__main__":
    sys.exit(main())
