"""Change the product in one place at a time, and see that its tests notice.

Each mutant of ``mutants.toml`` is a mistake that somebody could make: a comparison
turned around, a fence left out, a count forgotten. It names the tests that are there
for it, and those have to fail once it is made::

    make mutants                                # all of them
    make mutants MUTANTS="session-gap no-fence" # these

The tree is copied, and only the copy is changed. First the named tests have to pass
on it as it is. A mutant is caught if a test fails; a test that cannot be collected,
a fixture that breaks or a run that takes too long catches nothing. What is not caught
is a hole in the tests, and the exit status is 1. It is that, too, where the text to be
replaced is not in its file exactly once: then the code has changed, and the mutant has
to follow it.

To add a mutant, choose a line that a promise of the product hangs on, and write a
table under a name of its own into ``mutants.toml``: the `file`, the `text` as it is
there, what stands there `instead`, what that `breaks` in one sentence, and the `tests`
that are named for it: few and fast, from ``tests/unit`` or ``tests/spark`` wherever
those can see it, and from ``tests/faults`` where only a server can. Run it by its name.
If it survives, write the test that is missing, not another mutant.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import xml.etree.ElementTree as ET
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_suffix(".toml")
JAR = "src/headrace/_spark/operators.jar"

# Of a mutant's tests. Without it, one that makes a query wait for ever has no end.
LONGEST_SECONDS = 600
# Of all tests together before the first mutant.
LONGEST_UNCHANGED_SECONDS = 1800
# For tests that are interrupted.
GRACE_SECONDS = 60

_TESTS_FAILED = 1


class MutantError(Exception):
    """A mutant cannot be tried; the message says why."""


@dataclass(frozen=True)
class Mutant:
    """One mistake, and the tests that have to notice it."""

    name: str
    file: str
    text: str
    instead: str
    breaks: str
    tests: tuple[str, ...]

    def applied(self, source: str) -> str:
        """Give a source with the mistake in it.

        Raises:
            MutantError: What it replaces is not there exactly once.
        """
        found = source.count(self.text)
        if found != 1:
            raise MutantError(f"stale: its text is {found} times in {self.file}")
        return source.replace(self.text, self.instead)


@dataclass(frozen=True)
class Ended:
    """How a run of tests ended.

    Attributes:
        failed: The tests that failed, by their names.
        passed: How many passed.
        otherwise: What happened that was neither, in words; empty if nothing did.
    """

    failed: tuple[str, ...]
    passed: int
    otherwise: str = ""


def read_table(path: Path = TABLE) -> list[Mutant]:
    """Read the mutants in the order in which they are written down."""
    found = []
    for name, entry in tomllib.loads(path.read_text()).items():
        tests = tuple(entry.pop("tests"))
        found.append(Mutant(name=name, tests=tests, **entry))
    return found


def ended(status: int, report: Path) -> Ended:
    """Separate failed tests from all else that can end a run of pytest.

    Args:
        status: Its exit status.
        report: What it has written as JUnit's XML, if it came so far.
    """
    if status not in {0, _TESTS_FAILED}:
        return Ended((), 0, f"pytest ended with status {status}")
    if not report.exists():
        return Ended((), 0, "pytest ended with no report")
    failed, broken, passed = [], [], 0
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - of our own run
        kinds = {part.tag for part in case}
        if "failure" in kinds:
            failed.append(str(case.get("name")))
        elif kinds & {"error", "skipped"}:
            broken.append(str(case.get("name")))
        else:
            passed += 1
    if broken and not failed:
        return Ended((), passed, f"{broken[0]} neither failed nor passed")
    return Ended(tuple(failed), passed)


class Copy:
    """A copy of the tree, which is changed and tested in its place.

    Args:
        home: A directory of its own.
    """

    def __init__(self, home: Path) -> None:
        # Kafka and its like may run as another account.
        home.chmod(0o755)
        self._home = home
        self._tree = home / "tree"
        left_out = shutil.ignore_patterns(".*", "__pycache__", "dist")
        shutil.copytree(ROOT, self._tree, ignore=left_out, symlinks=True)
        # A checkout's own servers and caches stay its own.
        named = ("PYTEST_", "HEADRACE_FAILPOINT")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(named)}
        self._environment = kept | {
            "PYTHONPATH": str(self._tree / "src"),
            # Python knows a changed file by its time in seconds, and its size.
            "PYTHONDONTWRITEBYTECODE": "1",
            "HEADRACE_STATE_DIR": str(home / "state"),
        }

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        """Make a mistake, for as long as this is entered.

        Raises:
            MutantError: It is stale, or Java does not compile with it.
        """
        file = self._tree / mutant.file
        jar = self._tree / JAR
        before, packed = file.read_text(), jar.read_bytes()
        file.write_text(mutant.applied(before))
        try:
            if file.suffix == ".java":
                self._compile(file, jar)
            yield
        finally:
            file.write_text(before)
            jar.write_bytes(packed)

    def _compile(self, file: Path, jar: Path) -> None:
        """Compile one class against the others in the jar, and put it among them.

        That takes a quarter of the time that all of them do. What the compiler copies
        from one class into others is a constant, and no mutant is of one.
        """
        build = _module(self._tree / "jvm" / "hatch_build.py")
        sources = self._home / "sources"
        alone = sources / file.relative_to(self._tree / "jvm" / "src")
        shutil.rmtree(sources, ignore_errors=True)
        alone.parent.mkdir(parents=True)
        shutil.copy(file, alone)
        made = self._home / "made.jar"
        others = f"{jar}{os.pathsep}{build.class_path()}"
        try:
            build.build_jar(made, sources, lambda: others)
        except build.JarBuildError as problem:
            raise MutantError(f"it cannot be built: {problem}") from problem
        with zipfile.ZipFile(made) as new, zipfile.ZipFile(jar) as old:
            classes = {n: part.read(n) for part in (old, new) for n in part.namelist()}
        with zipfile.ZipFile(jar, "w") as whole:
            for name, content in classes.items():
                whole.writestr(name, content)

    def tested(
        self, tests: Iterable[str], seconds: float, *, to_the_end: bool = False
    ) -> Ended:
        """Run tests on the copy as it is now, up to the first that fails."""
        report = self._home / "report.xml"
        report.unlink(missing_ok=True)
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *(f"--basetemp={self._home / 'tests'}", f"--junitxml={report}"),
            *(() if to_the_end else ("-x",)),
            *tests,
        ]
        log = self._home / "log"
        with log.open("w") as out:
            process = subprocess.Popen(
                command,
                cwd=self._tree,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                return Ended((), 0, f"the tests ran for more than {seconds:.0f} s")
            finally:
                _end(process)
        return ended(status, report)

    @property
    def log(self) -> str:
        """What the last run of tests has printed."""
        return (self._home / "log").read_text()


def require_passing(copy: Copy, mutants: Sequence[Mutant]) -> None:
    """See that the tests of all mutants pass before one is made.

    Raises:
        MutantError: Some do not.
    """
    by_part: dict[Path, dict[str, None]] = defaultdict(dict)
    for test in (test for mutant in mutants for test in mutant.tests):
        by_part[Path(test.partition("::")[0]).parent][test] = None
    for part, tests in by_part.items():
        found = copy.tested(tests, LONGEST_UNCHANGED_SECONDS, to_the_end=True)
        if found.failed or found.otherwise or found.passed < len(tests):
            raise MutantError(
                f"without a mutant, not all tests of {part} pass: "
                f"{', '.join(found.failed) or found.otherwise}\n{copy.log}"
            )


def tried(copy: Copy, mutant: Mutant) -> tuple[bool, str]:
    """Make one mistake; give whether it was caught, and by which test or why not."""
    try:
        with copy.changed(mutant):
            found = copy.tested(mutant.tests, LONGEST_SECONDS)
    except MutantError as problem:
        return False, str(problem)
    if found.failed:
        return True, found.failed[0]
    return False, found.otherwise or "SURVIVED: no test fails"


def try_all(mutants: Sequence[Mutant]) -> int:
    """Try mutants one after the other, and print a line for each.

    Returns:
        How many were not caught.
    """
    width = max(len(mutant.name) for mutant in mutants)
    with tempfile.TemporaryDirectory(prefix="headrace-mutants-") as home:
        copy = Copy(Path(home))
        begun = time.monotonic()
        require_passing(copy, mutants)
        print(f"{'(none)':{width}} {_since(begun)}  all tests pass", flush=True)
        missed = 0
        for mutant in mutants:
            begun = time.monotonic()
            is_caught, how = tried(copy, mutant)
            missed += not is_caught
            mark = "  caught by" if is_caught else "! not caught:"
            print(f"{mutant.name:{width}} {_since(begun)}{mark} {how}", flush=True)
            if not is_caught:
                print(f"  {mutant.file}: {mutant.breaks}", flush=True)
    print(f"{len(mutants) - missed} of {len(mutants)} mutants were caught")
    return missed


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the mutants that are named, or all."""
    parser = argparse.ArgumentParser(description="Try mutants of the product.")
    parser.add_argument("names", nargs="*", help="which ones; all if none is named")
    given = parser.parse_args(arguments)
    known = {mutant.name: mutant for mutant in read_table()}
    strange = [name for name in given.names if name not in known]
    if strange:
        parser.error(f"no mutant {strange[0]}; there are: {', '.join(known)}")
    try:
        return 1 if try_all([known[n] for n in given.names or known]) else 0
    except MutantError as problem:
        print(problem, file=sys.stderr)
        return 1


def _since(begun: float) -> str:
    return f"{time.monotonic() - begun:5.0f} s"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a run that goes on, and all that it has started and left behind."""
    if process.poll() is None:
        # Only this has the tests' fixtures stop their servers.
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _module(path: Path) -> Any:
    """Load the copy's own build script."""
    spec = importlib.util.spec_from_file_location("mutated_build", path)
    if spec is None or spec.loader is None:
        raise MutantError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main())
