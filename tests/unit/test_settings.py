from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace import SettingsError
from headrace.settings import load_settings, open_to_others, project_file, user_file


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a user who has chosen nothing yet, in an empty project."""
    for name in list(os.environ):
        if name.startswith(("HEADRACE_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def write_user_file(text: str) -> Path:
    file = user_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def write_project_file(text: str) -> Path:
    file = Path("headrace.toml")
    file.write_text(text)
    return file


def test_a_setting_nobody_chose_has_its_default() -> None:
    assert load_settings().service_user == "nobody"


def test_the_user_file_beats_the_default() -> None:
    write_user_file('service_user = "from-user-file"')

    assert load_settings().service_user == "from-user-file"


def test_the_project_file_beats_the_user_file() -> None:
    write_user_file('service_user = "from-user-file"\ncache_dir = "/from-user-file"')
    write_project_file('service_user = "from-project"')

    assert load_settings().service_user == "from-project"
    assert load_settings().cache_dir == Path("/from-user-file")


def test_the_environment_beats_the_project_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_user_file('service_user = "from-user-file"')
    write_project_file('service_user = "from-project"')
    monkeypatch.setenv("HEADRACE_SERVICE_USER", "from-environment")

    assert load_settings().service_user == "from-environment"


def test_a_flag_beats_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    write_project_file('service_user = "from-project"')
    monkeypatch.setenv("HEADRACE_SERVICE_USER", "from-environment")

    assert load_settings(service_user="from-flag").service_user == "from-flag"


def test_a_flag_that_was_not_given_decides_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADRACE_SERVICE_USER", "from-environment")

    assert load_settings(service_user=None).service_user == "from-environment"


def test_the_project_file_is_found_from_below(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_project_file('service_user = "from-project"')
    found = file.absolute()
    below = Path("src/deep")
    below.mkdir(parents=True)
    monkeypatch.chdir(below)

    assert project_file() == found
    assert load_settings().service_user == "from-project"


def test_outside_a_project_there_is_no_project_file() -> None:
    assert project_file() is None


def test_ports_of_all_sources_are_taken_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_project_file("[ports]\nredis = 6379\npostgres = 5432")
    monkeypatch.setenv("HEADRACE_PORTS", '{"redis": 7000}')

    assert load_settings().ports == {"redis": 7000, "postgres": 5432}


def test_a_port_can_be_set_by_its_own_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADRACE_PORTS__REDIS", "7000")

    assert load_settings().ports == {"redis": 7000}


def test_directories_become_absolute(home: Path) -> None:
    settings = load_settings(cache_dir="near", state_dir="~/far")

    assert settings.cache_dir == home / "project" / "near"
    assert settings.state_dir == home / "far"


def test_settings_cannot_be_changed_afterwards() -> None:
    settings = load_settings()

    with pytest.raises(Exception, match="frozen"):
        settings.service_user = "other"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('colour = "red"', "colour"),
        ("service_user = 7", "service_user"),
        ('maven_mirror = "somewhere"', "maven_mirror"),
        ("[ports]\nredis = 0", "ports.redis"),
        ("[ports]\nredis = 65536", "ports.redis"),
        ('[ports]\nredis = "many"', "ports.redis"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(text: str, name: str) -> None:
    write_project_file(text)

    with pytest.raises(SettingsError) as caught:
        load_settings()

    assert caught.value.slug == "setting-rejected"
    assert f'"{name}"' in caught.value.fact
    assert "cache_dir" in str(caught.value.hint)


def test_a_flag_of_an_unknown_name_is_refused() -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(colour="red")

    assert caught.value.slug == "setting-rejected"


def test_a_value_of_the_environment_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADRACE_PORTS__REDIS", "many")

    with pytest.raises(SettingsError) as caught:
        load_settings()

    assert caught.value.slug == "setting-rejected"
    assert "'many'" in str(caught.value.detail)


@pytest.mark.parametrize("write", [write_user_file, write_project_file])
def test_a_file_that_is_not_toml_is_named(write: Callable[[str], Path]) -> None:
    file = write("service_user = ")

    with pytest.raises(SettingsError) as caught:
        load_settings()

    assert caught.value.slug == "settings-unreadable"
    assert str(file.absolute()) in str(caught.value.where)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes on Windows")
def test_a_directory_behind_a_closed_one_is_not_open_to_others(home: Path) -> None:
    inner = home / "closed" / "open"
    inner.mkdir(parents=True)
    below_everything = [inner, *inner.parents]
    for directory in below_everything[:2]:
        directory.chmod(0o755)

    before = open_to_others(inner)
    (home / "closed").chmod(0o700)

    assert not open_to_others(inner)
    assert not open_to_others(inner / "not" / "there" / "yet")
    # The temporary directory itself may be closed to others.
    assert before == open_to_others(home)


def test_ports_of_both_files_are_put_together() -> None:
    write_user_file("[ports]\nredis = 7001\npostgres = 7002")
    write_project_file("[ports]\nredis = 7003")

    assert load_settings().ports == {"redis": 7003, "postgres": 7002}


def test_the_environment_names_a_process_with_underscores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADRACE_PORTS__KAFKA_1", "9092")

    assert load_settings().ports == {"kafka-1": 9092}


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_JAVA_HOME", "")

    assert load_settings().java_home is None


def test_a_variable_that_cannot_be_parsed_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADRACE_PORTS", "abc")

    with pytest.raises(SettingsError) as caught:
        load_settings()

    assert caught.value.slug == "setting-rejected"
    assert "ports" in caught.value.fact


def test_a_file_that_is_not_utf8_is_refused_by_its_name() -> None:
    file = write_project_file("")
    file.write_bytes(b'service_user = "\xff"')

    with pytest.raises(SettingsError) as caught:
        load_settings()

    assert caught.value.slug == "settings-unreadable"
    assert "headrace.toml" in (caught.value.where or "")


def test_a_rejected_address_is_not_repeated() -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(maven_mirror="ftp://user:canary@example.org")

    assert "canary" not in str(caught.value)
