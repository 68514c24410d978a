"""Finding a Java: by setting, by environment, by path; and saying what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.artifacts import java
from headrace.artifacts.java import find_java
from headrace.errors import MachineError
from headrace.settings import Settings, load_settings


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide every Java of this machine."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("HEADRACE_JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(java, "_JVM_DIRECTORIES", (str(tmp_path / "jvm"),))


def install(home: Path, version: str, *, release: bool = False) -> Path:
    """Make a Java that tells its version, itself or in a release file."""
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    answer = f'openjdk version "{version}" 2024-01-01'
    program.write_text(f"#!/bin/sh\necho '{answer}' >&2\n")
    program.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
        program.write_text("#!/bin/sh\nexit 1\n")
    return home


def with_home(home: Path) -> Settings:
    return load_settings(java_home=home)


@pytest.mark.parametrize("release", [True, False])
@pytest.mark.parametrize(
    ("version", "major"), [("17.0.2", 17), ("21", 21), ("23-ea", 23), ("17.0.19+9", 17)]
)
def test_a_fitting_java_is_found_by_the_setting(
    version: str, major: int, release: bool, tmp_path: Path
) -> None:
    home = install(tmp_path / "java", version, release=release)

    found = find_java(with_home(home))

    assert (found.home, found.major) == (home, major)
    assert found.executable == home / "bin" / "java"


@pytest.mark.parametrize("release", [True, False])
@pytest.mark.parametrize(
    ("version", "slug"),
    [
        ("1.8.0_402", "java-too-old"),
        ("11.0.22", "java-too-old"),
        ("16", "java-too-old"),
        ("24", "java-too-new"),
        ("25.0.1", "java-too-new"),
    ],
)
def test_a_java_outside_the_range_is_refused(
    version: str, slug: str, release: bool, tmp_path: Path
) -> None:
    home = install(tmp_path / "java", version, release=release)

    with pytest.raises(MachineError) as refused:
        find_java(with_home(home))

    assert refused.value.slug == slug
    assert refused.value.where == str(home)


def test_a_machine_without_java_is_told_how_to_get_one() -> None:
    with pytest.raises(MachineError) as refused:
        find_java(load_settings())

    assert refused.value.slug == "java-missing"
    assert "apt-get install" in (refused.value.hint or "")


def test_a_setting_is_an_order_though_another_java_would_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path / "17", "17.0.1")))

    with pytest.raises(MachineError) as refused:
        find_java(with_home(tmp_path / "nothing-here"))

    assert refused.value.slug == "java-missing"


def test_java_home_comes_before_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path / "home", "21")))
    monkeypatch.setenv("PATH", str(install(tmp_path / "path", "17") / "bin"))

    assert find_java(load_settings()).major == 21


def test_an_unfitting_java_home_gives_way_to_a_fitting_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path / "home", "11.0.1")))
    install(tmp_path / "jvm" / "java-17", "17.0.9", release=True)

    assert find_java(load_settings()).home == tmp_path / "jvm" / "java-17"


def test_a_link_on_the_path_leads_to_the_javas_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = install(tmp_path / "real", "17.0.9")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")

    assert find_java(load_settings()).home == home


@pytest.mark.parametrize("text", ["", "#!/no/such/interpreter\n", "#!/bin/sh\n"])
def test_a_java_that_does_not_run_counts_as_none(text: str, tmp_path: Path) -> None:
    home = install(tmp_path / "java", "17")
    (home / "bin" / "java").write_text(text)

    with pytest.raises(MachineError) as refused:
        find_java(with_home(home))

    assert refused.value.slug == "java-missing"
