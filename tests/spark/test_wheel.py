"""The wheel works where there is nothing but the wheel and what it asks for."""

from __future__ import annotations

import importlib.util
import io
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace._spark import operators_jar
from headrace.artifacts import connect_jar
from headrace.cli.demo import DEMOS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
# The locked one; a machine need not have another.
UV = Path(sys.executable).with_name("uv")

PROGRAM = """
import sys
from pathlib import Path

import headrace
from headrace._spark import running_count, session

here = Path.cwd()
(here / "source").mkdir()
(here / "source" / "1.json").write_text('{"k": "ann"}\\n{"k": "bob"}\\n{"k": "ann"}\\n')

spark = session("outside", jars=())
stream = spark.readStream.schema("k string").json(str(here / "source"))
query = (
    running_count(stream, "k")
    .writeStream.format("memory")
    .queryName("counts")
    .option("checkpointLocation", str(here / "checkpoint"))
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
print(Path(headrace.__file__).is_relative_to(sys.prefix))
print(sorted(map(tuple, spark.table("counts").collect())))
"""


def uv(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [UV, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build as a release does: the sdist, and the wheel from that sdist alone."""
    out = tmp_path_factory.mktemp("dist")
    built = uv(
        "build", "--no-build-isolation", "--python", sys.executable, "--out-dir", out
    )
    assert built.returncode == 0, built.stderr
    [wheel] = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def environment(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A new environment with the wheel and the locked versions of what it asks for.

    uv links packages out of its cache, so this costs a second once PySpark is in
    there. Offline comes first, as uv asks the index about every package otherwise.
    """
    home = tmp_path_factory.mktemp("outside") / "env"
    made = uv("venv", "--python", sys.executable, home)
    assert made.returncode == 0, made.stderr
    install: list[str | Path] = ["pip", "install", "--python", home]
    install += ["-c", "requirements.lock", wheel]
    if uv(*install, "--offline").returncode:
        installed = uv(*install)
        assert installed.returncode == 0, installed.stderr
    yield home
    shutil.rmtree(home)


def test_the_wheel_holds_the_jar_built_from_the_sdist(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        jar = archive.read("headrace/_spark/operators.jar")

    assert jar == operators_jar().read_bytes(), "run `python jvm/hatch_build.py`"
    classes = zipfile.ZipFile(io.BytesIO(jar)).namelist()
    assert "io/headrace/operators/RunningCount.class" in classes


def test_the_wheel_holds_the_connector_too(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        jar = archive.read("headrace/artifacts/connect.jar")

    assert jar == connect_jar().read_bytes(), "run `python jvm/hatch_build.py`"


def test_the_wheel_holds_the_demos(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    for demo in DEMOS.values():
        assert f"headrace/_demos/{demo}" in names
    assert "headrace/_demos/fraud/model.json" in names


def test_the_operator_runs_in_an_environment_of_its_own(
    environment: Path, tmp_path: Path
) -> None:
    # -I keeps out the repository, PYTHONPATH and the user's own packages.
    done = subprocess.run(
        [environment / "bin" / "python", "-I", "-c", PROGRAM],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["True", "[('ann', 2), ('bob', 1)]"]


@pytest.mark.skipif(
    importlib.util.find_spec("headrace.cli") is None, reason="there is no cli yet"
)
def test_the_command_is_installed(environment: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [environment / "bin" / "headrace", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
