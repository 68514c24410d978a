"""The mutants still are of the code as it is, and are judged by what tests say."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.harness.house_tree import ROOT

if TYPE_CHECKING:
    from types import ModuleType


def _loaded() -> ModuleType:
    path = ROOT / "scripts" / "mutants.py"
    spec = importlib.util.spec_from_file_location("mutants", path)
    assert spec
    assert spec.loader
    module = sys.modules["mutants"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mutants = _loaded()
# Where the tests are that all sinks' test classes have in common.
CONTRACT = "src/headrace/testing/contract.py"
TABLE = mutants.read_table()
HARMLESS = mutants.Mutant(
    name="harmless",
    file="src/headrace/durations.py",
    text="from __future__ import annotations",
    instead="from __future__ import annotations  # still",
    breaks="nothing.",
    tests=("tests/house/test_mutants.py::test_there_are_mutants_of_both_languages",),
)


def test_there_are_mutants_of_both_languages() -> None:
    languages = {Path(mutant.file).suffix for mutant in TABLE}

    assert languages == {".py", ".java"}
    assert len(TABLE) >= 12


@pytest.mark.parametrize("mutant", TABLE, ids=lambda mutant: mutant.name)
def test_a_mutant_is_of_the_code_and_the_tests_that_are_there(mutant: object) -> None:
    assert isinstance(mutant, mutants.Mutant)
    source = (ROOT / mutant.file).read_text()

    assert mutant.applied(source) != source
    # Other classes would go on with the constant as it was; see Copy.changed.
    assert "static final" not in mutant.text
    assert re.fullmatch(r"[a-z][^\n]*\.", mutant.breaks)
    assert mutant.tests
    for test in mutant.tests:
        file, *_, function = test.partition("[")[0].split("::")
        named = (ROOT / file).read_text() + (ROOT / CONTRACT).read_text()
        assert f"def {function}(" in named


def test_a_mutant_of_code_that_has_changed_is_stale() -> None:
    with pytest.raises(mutants.MutantError, match="0 times in src/headrace/durations"):
        HARMLESS.applied("other code")
    with pytest.raises(mutants.MutantError, match="2 times"):
        HARMLESS.applied(HARMLESS.text * 2)


FAILING = "def test_it():\n    assert False\n"
BROKEN = "import pytest\n@pytest.fixture\ndef it():\n    assert False\n"


@pytest.mark.parametrize(
    ("module", "failed", "otherwise"),
    [
        (FAILING, ("test_it",), ""),
        ("def test_it():\n    pass\n", (), ""),
        (BROKEN + "def test_it(it):\n    pass\n", (), "neither failed nor passed"),
        ("def test_it():\n    __import__('pytest').skip()\n", (), "neither failed"),
        ("import nowhere\n" + FAILING, (), "status 2"),
        ("import os\ndef test_it():\n    os._exit(1)\n", (), "no report"),
        ("", (), "status 5"),
    ],
    ids=["fails", "passes", "fixture", "skips", "collection", "dies", "nothing"],
)
def test_only_a_test_that_fails_has_caught_anything(
    tmp_path: Path, module: str, failed: tuple[str, ...], otherwise: str
) -> None:
    (tmp_path / "test_one.py").write_text(module)
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [*command, "--rootdir=.", f"--junitxml={report}"],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=False,
    )

    found = mutants.ended(ran.returncode, report)

    assert found.failed == failed
    assert otherwise in found.otherwise
    assert bool(otherwise) == bool(found.otherwise)


def test_what_no_test_notices_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutants.try_all([HARMLESS]) == 1

    said = capsys.readouterr().out
    assert "SURVIVED: no test fails" in said
    assert "0 of 1 mutants were caught" in said


def test_tests_that_do_not_end_have_caught_nothing(tmp_path: Path) -> None:
    found = mutants.Copy(tmp_path).tested(HARMLESS.tests, 0.01)

    assert not found.failed
    assert "ran for more than" in found.otherwise
