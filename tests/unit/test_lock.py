"""The lock: coordinates, places, and what the shipped file holds."""

from __future__ import annotations

import platform
import re
import tomllib
from pathlib import Path, PurePosixPath

import pytest

from headrace.artifacts.lock import LOCK_FILE, Artifact, locked, platform_tag
from headrace.errors import FetchError, MachineError
from headrace.services import SERVICES
from headrace.services.catalog import with_needs

# By the group: coordinate, hash and size of each file.
Groups = dict[str, list[tuple[str, str, int]]]

PLATFORMS = ("linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64")


@pytest.fixture(scope="module")
def groups() -> Groups:
    found = tomllib.loads(LOCK_FILE.read_text())["groups"]
    return {
        name: [(coordinate, sha256, size) for coordinate, sha256, size in rows]
        for name, rows in found.items()
    }


@pytest.mark.parametrize(
    ("coordinate", "parts", "path"),
    [
        ("org.x:a:1.0", ("org.x", "a", "1.0", "", "jar"), "org/x/a/1.0/a-1.0.jar"),
        ("x:a:1:all", ("x", "a", "1", "all", "jar"), "x/a/1/a-1-all.jar"),
        ("x:a:1@pom", ("x", "a", "1", "", "pom"), "x/a/1/a-1.pom"),
        ("x:a:1:b@tar.gz", ("x", "a", "1", "b", "tar.gz"), "x/a/1/a-1-b.tar.gz"),
    ],
)
def test_a_coordinate_names_its_parts_and_its_place(
    coordinate: str, parts: tuple[str, ...], path: str
) -> None:
    artifact = Artifact(coordinate, "", 0)

    assert artifact.parts == parts
    assert artifact.path == PurePosixPath(path)


def test_a_group_comes_in_the_order_of_the_lock(tmp_path: Path) -> None:
    lock = tmp_path / "my.lock"
    lock.write_text('[groups]\nb = [["x:b:1", "bb", 2], ["x:a:1", "aa", 1]]\n')

    assert locked("b", lock) == (Artifact("x:b:1", "bb", 2), Artifact("x:a:1", "aa", 1))


def test_an_unknown_group_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    lock = tmp_path / "my.lock"
    lock.write_text("[groups]\nkafka = []\n")

    with pytest.raises(FetchError) as refused:
        locked("kafak", lock)

    assert refused.value.slug == "artifact-group-unknown"
    assert "kafka" in (refused.value.hint or "")


def test_every_locked_file_has_a_whole_hash_and_a_size(groups: Groups) -> None:
    rows = [row for rows in groups.values() for row in rows]

    assert len(rows) > 100
    for coordinate, sha256, size in rows:
        assert re.fullmatch(r"[0-9a-f]{64}", sha256), coordinate
        assert size > 0, coordinate


def test_a_coordinate_has_one_hash_in_all_groups(groups: Groups) -> None:
    hashes: dict[str, set[str]] = {}
    for rows in groups.values():
        for coordinate, sha256, _size in rows:
            hashes.setdefault(coordinate, set()).add(sha256)

    assert [c for c, found in hashes.items() if len(found) > 1] == []


@pytest.mark.parametrize("tag", PLATFORMS)
def test_the_lock_has_every_service_on_every_platform(
    tag: str, groups: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, machine = tag.split("-")
    names = {"linux": "Linux", "darwin": "Darwin"}
    monkeypatch.setattr(platform, "system", lambda: names[system])
    monkeypatch.setattr(platform, "machine", lambda: machine)

    wanted = {group for service in with_needs(()) for group in service.artifacts()}

    assert f"postgres-{tag}" in wanted
    assert wanted <= set(groups)


@pytest.mark.parametrize("tag", PLATFORMS)
def test_mariadb_is_locked_where_it_can_start_and_refused_elsewhere(
    tag: str, groups: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, machine = tag.split("-")
    monkeypatch.setattr(platform, "system", system.title)
    monkeypatch.setattr(platform, "machine", lambda: machine)

    if f"mariadb-{tag}" in groups:
        assert SERVICES["mariadb"].artifacts() == (f"mariadb-{tag}",)
    else:
        with pytest.raises(MachineError, match="platform-unsupported"):
            SERVICES["mariadb"].artifacts()


@pytest.mark.parametrize(
    ("system", "machine", "tag"),
    [
        ("Linux", "x86_64", "linux-amd64"),
        ("Linux", "aarch64", "linux-arm64"),
        ("Darwin", "arm64", "darwin-arm64"),
        ("Linux", "AMD64", "linux-amd64"),
    ],
)
def test_a_machine_is_named_as_in_the_lock(
    system: str, machine: str, tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)

    assert platform_tag() == tag


@pytest.mark.parametrize(
    ("system", "machine"), [("Windows", "AMD64"), ("Linux", "riscv64")]
)
def test_a_machine_without_server_binaries_is_told_so(
    system: str, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)

    with pytest.raises(MachineError) as refused:
        platform_tag()

    assert refused.value.slug == "platform-unsupported"
