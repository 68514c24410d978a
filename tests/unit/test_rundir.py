"""The run directory: ours alone, one command at a time, never somebody's files."""

from __future__ import annotations

import base64
import fcntl
import os
import pwd
import subprocess
import sys
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.errors import MachineError, ServiceError, SettingsError
from headrace.services import Stack
from headrace.services.rundir import RunDirectory, default_run_dir
from headrace.settings import Settings, load_settings
from support.harness.rights import without_rights


@pytest.fixture
def settings(open_tmp: Path) -> Settings:
    return load_settings(state_dir=open_tmp / "state")


@pytest.fixture
def directory(settings: Settings, open_tmp: Path) -> RunDirectory:
    return RunDirectory(settings, open_tmp / "run")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_run_directory_is_closed_to_others(directory: RunDirectory) -> None:
    directory.create()
    directory.create()

    assert mode(directory.path) == 0o700


def test_the_parents_of_a_run_directory_are_open_under_a_tight_umask(
    settings: Settings, open_tmp: Path
) -> None:
    directory = RunDirectory(settings, open_tmp / "a" / "b" / "run")
    before = os.umask(0o077)
    try:
        directory.create()
    finally:
        os.umask(before)

    modes = [mode(path) for path in (directory.path, *directory.path.parents)][:3]
    assert modes == [0o700, 0o755, 0o755]


def test_a_directory_with_other_files_is_refused_and_left_as_it_was(
    directory: RunDirectory,
) -> None:
    directory.path.mkdir(mode=0o755)
    directory.account.own(directory.path)
    (directory.path / "thesis.txt").write_text("years of work")

    with pytest.raises(ServiceError) as refused:
        directory.create()

    assert refused.value.slug == "directory-not-ours"
    assert [p.name for p in directory.path.iterdir()] == ["thesis.txt"]
    assert mode(directory.path) == 0o755


def test_stopping_servers_in_a_foreign_directory_leaves_no_trace(
    settings: Settings, open_tmp: Path
) -> None:
    (open_tmp / "thesis.txt").touch()

    assert Stack(open_tmp, settings).down() == []
    assert [p.name for p in open_tmp.iterdir()] == ["thesis.txt"]


def test_a_lock_alone_does_not_make_a_directory_ours(directory: RunDirectory) -> None:
    directory.path.mkdir()
    directory.account.own(directory.path)
    (directory.path / "run.lock").touch()
    (directory.path / "thesis.txt").touch()

    with pytest.raises(ServiceError) as refused:
        directory.create()

    assert refused.value.slug == "directory-not-ours"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reaches other users' files")
def test_under_root_another_users_servers_are_not_taken_over(
    directory: RunDirectory,
) -> None:
    directory.create()
    directory.remember(directory.read())
    os.chown(directory.path, 12345, 12345)

    with pytest.raises(ServiceError) as refused:
        directory.create()

    assert refused.value.slug == "directory-not-ours"
    assert directory.path.stat().st_uid == 12345


def test_a_directory_where_a_first_start_was_cut_short_is_ours(
    directory: RunDirectory,
) -> None:
    directory.create()
    with directory.locked():
        (directory.path / "run.json.draft").touch()

    directory.create()


def test_beginning_anew_spares_what_is_not_ours(directory: RunDirectory) -> None:
    directory.create()
    directory.remember(directory.read())
    directory.make(directory.path / "redis" / "data")
    (directory.path / "thesis.txt").touch()

    with directory.locked():
        directory.clear(["redis", "postgres"])

    names = {path.name for path in directory.path.iterdir()}
    assert names == {"run.lock", "thesis.txt"}


def test_beginning_anew_finishes_what_a_killed_command_began(
    directory: RunDirectory,
) -> None:
    directory.create()
    with directory.locked():
        (directory.path / "removed-1" / "redis").mkdir(parents=True)

        directory.clear([])

    assert [path.name for path in directory.path.iterdir()] == ["run.lock"]


def test_a_second_command_is_refused_while_one_acts(
    directory: RunDirectory, settings: Settings
) -> None:
    directory.create()
    other = RunDirectory(settings, directory.path)

    with (
        directory.locked(),
        pytest.raises(ServiceError) as refused,
        other.locked(),
    ):
        pass

    assert refused.value.slug == "run-directory-busy"
    with other.locked():
        pass


def test_a_lock_is_free_again_when_its_holder_was_killed(
    directory: RunDirectory,
) -> None:
    directory.create()
    program = (
        "import fcntl, os, sys, time\n"
        "fcntl.flock(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "time.sleep(60)\n"
    )
    lock = directory.path / "run.lock"
    with subprocess.Popen(
        [sys.executable, "-c", program, lock], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ServiceError), directory.locked():
            pass
        holder.kill()

    with directory.locked():
        assert directory.lock is not None
        with lock.open() as probe, pytest.raises(BlockingIOError):
            fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert directory.lock is None


def test_a_run_is_remembered(directory: RunDirectory) -> None:
    directory.create()
    run = replace(
        directory.read(), brokers=3, ports={"redis": 1}, services=("kafka", "redis")
    )

    directory.remember(run)

    assert directory.read() == run
    assert mode(directory.path / "run.json") == 0o600


def test_two_runs_have_ids_of_their_own(directory: RunDirectory) -> None:
    first, second = directory.read(), directory.read()

    assert first.run_id != second.run_id
    assert first.cluster_id != second.cluster_id


def test_a_cluster_id_never_looks_like_an_option(
    directory: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    dashed = uuid.UUID(bytes=base64.urlsafe_b64decode("-" * 22 + "=="))
    monkeypatch.setattr(uuid, "uuid4", lambda: dashed)

    cluster_id = directory.read().cluster_id

    assert cluster_id[0] != "-"
    assert len(base64.urlsafe_b64decode(cluster_id + "==")) == 16


@pytest.mark.parametrize("text", ["", "{", "[]", '{"run_id": "a"}', '{"colour": "x"}'])
def test_a_damaged_memory_is_refused_by_name(
    text: str, directory: RunDirectory
) -> None:
    directory.create()
    (directory.path / "run.json").write_text(text)

    with pytest.raises(ServiceError) as refused:
        directory.read()

    assert refused.value.slug == "directory-not-ours"
    assert refused.value.where == str(directory.path / "run.json")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another account")
def test_under_root_everything_inside_belongs_to_the_servers_account(
    directory: RunDirectory,
) -> None:
    directory.create()
    directory.write("a/b/c.txt", "text")

    nobody = pwd.getpwnam("nobody").pw_uid
    inside = [directory.path, *directory.path.rglob("*")]
    assert {path.stat().st_uid for path in inside} == {nobody}
    assert [mode(path) for path in inside] == [0o700, 0o700, 0o700, 0o600]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has another account")
def test_a_directory_that_a_killed_command_kept_is_given_away_by_the_next(
    directory: RunDirectory,
) -> None:
    directory.create()
    data = directory.path / "redis" / "data"
    data.mkdir(parents=True)

    directory.make(data)

    owner = directory.account.uid
    assert owner not in {None, os.geteuid()}
    assert (data.stat().st_uid, data.parent.stat().st_uid) == (owner, owner)


@pytest.mark.skipif(os.geteuid() != 0, reason="a plain user owns the directory alone")
def test_a_link_planted_by_a_server_does_not_lead_root_astray(
    directory: RunDirectory, open_tmp: Path
) -> None:
    precious = open_tmp / "precious"
    precious.write_text("root's own")
    directory.create()
    directory.make(directory.path / "redis")
    (directory.path / "redis" / "redis.conf.draft").symlink_to(precious)

    directory.write("redis/redis.conf", "port 1")

    assert precious.read_text() == "root's own"
    assert precious.stat().st_uid == 0
    assert (directory.path / "redis" / "redis.conf").read_text() == "port 1"


@pytest.mark.skipif(os.geteuid() != 0, reason="a plain user's parents may be closed")
def test_under_root_a_directory_behind_a_closed_one_is_refused(
    settings: Settings, open_tmp: Path
) -> None:
    (open_tmp / "closed").mkdir(mode=0o700)

    with pytest.raises(MachineError) as refused:
        RunDirectory(settings, open_tmp / "closed" / "run").create()

    assert refused.value.slug == "directory-closed"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root chooses an account")
@pytest.mark.parametrize("account", ["root", "no-such-account"])
def test_under_root_an_account_that_cannot_serve_is_refused(
    account: str, open_tmp: Path
) -> None:
    with pytest.raises(SettingsError) as refused:
        RunDirectory(load_settings(service_user=account), open_tmp)

    assert refused.value.slug == "service-user-unknown"


def test_a_directory_that_cannot_be_made_is_refused(
    settings: Settings, open_tmp: Path
) -> None:
    (open_tmp / "closed").mkdir(mode=0o555)

    with without_rights(), pytest.raises(MachineError) as refused:
        RunDirectory(settings, open_tmp / "closed" / "run").create()

    assert refused.value.slug == "directory-not-writable"


def test_a_directory_below_a_file_is_refused(
    settings: Settings, open_tmp: Path
) -> None:
    (open_tmp / "file").touch()
    (open_tmp / "file").chmod(0o755)

    with pytest.raises(MachineError) as refused:
        RunDirectory(settings, open_tmp / "file" / "run").create()

    assert refused.value.slug == "directory-not-writable"


def test_another_accounts_directory_is_refused_by_name(
    settings: Settings, open_tmp: Path
) -> None:
    theirs = open_tmp / "theirs"
    theirs.mkdir()
    (theirs / "run.json").write_text("{}")
    theirs.chmod(0o000)

    with without_rights():
        stack = Stack(theirs, settings)
        for act in (stack.status, stack.down):
            with pytest.raises(MachineError) as refused:
                act()
            assert refused.value.slug == "directory-not-writable"
    theirs.chmod(0o700)


def test_a_project_has_a_directory_of_its_own(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for path in ("one/shop", "two/shop"):
        (tmp_path / path / "deep").mkdir(parents=True)
        (tmp_path / path / "headrace.toml").touch()
        monkeypatch.chdir(tmp_path / path / "deep")
        found.append(default_run_dir(settings))

    assert [path.name.startswith("shop-") for path in found] == [True, True]
    assert found[0] != found[1]
    assert found[0].parent == settings.state_dir


def test_outside_a_project_there_is_one_shared_directory(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert default_run_dir(settings) == settings.state_dir / "default"
