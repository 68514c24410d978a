"""Mirrors: our own setting, the user's Maven settings, or Maven Central."""

from __future__ import annotations

from pathlib import Path

import pytest
from jgo.constants import MAVEN_CENTRAL_URL

from headrace.artifacts.mirrors import remote_repository
from headrace.errors import SettingsError

NAMESPACE = 'xmlns="http://maven.apache.org/SETTINGS/1.2.0"'


def settings_xml(
    directory: Path, *mirrors: tuple[str, str], namespace: str = "", blocked: str = ""
) -> Path:
    """Write Maven settings with mirrors; the one at `blocked` is a blocked one."""
    rows = "".join(
        f"<mirror><mirrorOf>{of}</mirrorOf><url> {url} </url>"
        f"<blocked>{str(url == blocked).lower()}</blocked></mirror>"
        for of, url in mirrors
    )
    path = directory / "settings.xml"
    path.write_text(f"<settings {namespace}><mirrors>{rows}</mirrors></settings>")
    return path


def test_our_own_setting_wins_over_mavens(tmp_path: Path) -> None:
    theirs = settings_xml(tmp_path, ("*", "http://theirs"))

    assert remote_repository("http://ours/maven/", theirs) == "http://ours/maven"


@pytest.mark.parametrize("namespace", ["", NAMESPACE])
def test_mavens_mirror_is_found_with_and_without_a_namespace(
    namespace: str, tmp_path: Path
) -> None:
    theirs = settings_xml(tmp_path, ("central", "http://m/"), namespace=namespace)

    assert remote_repository(None, theirs) == "http://m"


@pytest.mark.parametrize(
    ("mirror_of", "used"),
    [
        ("central", True),
        ("*", True),
        ("external:*", True),
        ("snapshots, central", True),
        ("*,!snapshots", True),
        ("*,!central", False),
        ("!central,*", False),
        ("snapshots", False),
        ("external:http:*", False),
        ("", False),
    ],
)
def test_a_mirror_is_used_where_maven_would_use_it(
    mirror_of: str, used: bool, tmp_path: Path
) -> None:
    theirs = settings_xml(tmp_path, (mirror_of, "http://m"))

    found = remote_repository(None, theirs)

    assert found == ("http://m" if used else MAVEN_CENTRAL_URL)


def test_a_mirror_of_central_by_name_wins_over_an_earlier_wildcard(
    tmp_path: Path,
) -> None:
    theirs = settings_xml(tmp_path, ("*", "http://any"), ("central", "http://named"))

    assert remote_repository(None, theirs) == "http://named"


def test_a_blocked_mirror_is_passed_over(tmp_path: Path) -> None:
    mirrors = ("*", "http://blocked"), ("external:*", "http://m")
    theirs = settings_xml(tmp_path, *mirrors, blocked="http://blocked")

    assert remote_repository(None, theirs) == "http://m"


def test_maven_settings_without_mirrors_lead_to_central(tmp_path: Path) -> None:
    assert remote_repository(None, settings_xml(tmp_path)) == MAVEN_CENTRAL_URL
    assert remote_repository(None, tmp_path / "absent.xml") == MAVEN_CENTRAL_URL


def test_the_users_settings_lie_in_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".m2").mkdir()
    settings_xml(tmp_path / ".m2", ("central", "http://at-home"))
    monkeypatch.setenv("HOME", str(tmp_path))

    assert remote_repository(None) == "http://at-home"


def test_maven_settings_that_are_not_xml_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "settings.xml"
    path.write_text("<settings><mirrors>")

    with pytest.raises(SettingsError) as refused:
        remote_repository(None, path)

    assert refused.value.slug == "maven-settings-unreadable"
    assert refused.value.where == str(path)
