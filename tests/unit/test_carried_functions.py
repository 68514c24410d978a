"""What a user's own files define reaches workers that do not have the files."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import cloudpickle

from headrace._spark import carry_functions

CALL = """
import sys
from pyspark import cloudpickle
print(cloudpickle.load(sys.stdin.buffer)(1000))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A pipeline's file, a module beside it, and a package."""
    (tmp_path / "carried_sales.py").write_text(
        "from carried_taxes import rate\n"
        "from carried_parts.rounding import whole\n\n\n"
        "def taxed(cents):\n"
        "    return whole(cents * rate())\n"
    )
    (tmp_path / "carried_taxes.py").write_text("def rate():\n    return 1.19\n")
    (tmp_path / "carried_parts").mkdir()
    (tmp_path / "carried_parts" / "__init__.py").touch()
    (tmp_path / "carried_parts" / "rounding.py").write_text(
        "def whole(number):\n    return int(number)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("carried_")]:
        if name in cloudpickle.list_registry_pickle_by_value():
            cloudpickle.unregister_pickle_by_value(sys.modules[name])
        del sys.modules[name]


def called_elsewhere(pickled: bytes) -> subprocess.CompletedProcess[bytes]:
    """Call a function with 1000 in a process that does not have the files."""
    return subprocess.run(
        [sys.executable, "-c", CALL],
        input=pickled,
        capture_output=True,
        check=False,
        cwd="/",
        timeout=60,
    )


def test_a_function_runs_where_neither_its_file_nor_its_neighbours_are(
    project: Path,
) -> None:
    sales = importlib.import_module("carried_sales")

    carry_functions(project)

    done = called_elsewhere(cloudpickle.dumps(sales.taxed))
    assert done.stdout == b"1190\n", done.stderr.decode()


def test_without_it_the_file_would_be_missed(project: Path) -> None:
    sales = importlib.import_module("carried_sales")

    done = called_elsewhere(cloudpickle.dumps(sales.taxed))

    assert b"No module named 'carried_sales'" in done.stderr


def test_an_installed_package_is_imported_still(project: Path) -> None:
    importlib.import_module("carried_sales")

    carry_functions(project)

    carried = cloudpickle.list_registry_pickle_by_value()
    assert {name for name in carried if name.startswith("carried_")} == {
        "carried_sales",
        "carried_taxes",
        "carried_parts",
        "carried_parts.rounding",
    }
    assert not {"headrace", "pyspark", "pytest"} & carried
