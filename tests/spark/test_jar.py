"""The jar of operators is a function of its sources."""

from __future__ import annotations

import importlib.util
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace._spark import operators_jar
from headrace.artifacts import connect_jar

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "hatch_build", ROOT / "jvm" / "hatch_build.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_two_builds_give_the_same_bytes_and_those_of_the_jar_in_use(
    hook: ModuleType, tmp_path: Path
) -> None:
    elsewhere = shutil.copytree(hook.SOURCES, tmp_path / "elsewhere")

    hook.build_jar(tmp_path / "one.jar")
    hook.build_jar(tmp_path / "two.jar", elsewhere)

    built = (tmp_path / "one.jar").read_bytes()
    assert built == (tmp_path / "two.jar").read_bytes()
    assert built == operators_jar().read_bytes(), "run `python jvm/hatch_build.py`"


def test_the_connector_is_built_from_its_sources_and_named_to_connect(
    hook: ModuleType, tmp_path: Path
) -> None:
    sources = shutil.copytree(hook.HERE / "connect", tmp_path / "elsewhere")

    hook.build_jar(tmp_path / "one.jar", sources, hook.connect_class_path)

    built = (tmp_path / "one.jar").read_bytes()
    assert built == connect_jar().read_bytes(), "run `python jvm/hatch_build.py`"
    services = "META-INF/services/org.apache.kafka.connect.source.SourceConnector"
    named = zipfile.ZipFile(connect_jar()).read(services).decode().split()
    assert named == ["io.headrace.connect.PostgresCaptureConnector"]


def test_the_manifest_comes_first_and_the_classes_in_order() -> None:
    names = zipfile.ZipFile(operators_jar()).namelist()

    assert names[0] == "META-INF/MANIFEST.MF"
    assert names[1:] == sorted(names[1:])
    assert "io/headrace/operators/RunningCount.class" in names


def test_a_warning_stops_the_build(hook: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "Raw.java"
    source.write_text("class Raw { java.util.List rows; }\n")

    with pytest.raises(hook.JarBuildError, match="rawtypes"):
        hook.build_jar(tmp_path / "raw.jar", tmp_path)

    assert not (tmp_path / "raw.jar").exists()


def test_a_missing_compiler_is_named(
    hook: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(hook.JarBuildError, match="needs a JDK, 17 or newer"):
        hook.build_jar(tmp_path / "never.jar")
