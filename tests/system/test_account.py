"""A plain user: everything works without root, in one's own directories."""

from __future__ import annotations

import json
import os
import pwd
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

import headrace
from headrace.services import Stack
from headrace.settings import open_to_others
from support.harness.observe import COMMAND, processes_in

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="all other tests run as a plain user already"
)

NOBODY = "nobody"
AsNobody = Callable[..., subprocess.CompletedProcess[str]]


def closed_trees() -> dict[Path, Path]:
    """Give what Python needs behind directories that are closed to others.

    Each such tree is given with the topmost closed directory above it.
    """
    needed = {Path(p).resolve() for p in (sys.base_prefix, sys.prefix, COMMAND.parent)}
    needed.add(Path(headrace.__file__).resolve().parents[1])
    trees = {}
    for tree in needed:
        closed = [p for p in (tree, *tree.parents) if not p.stat().st_mode & 0o001]
        if closed:
            trees[tree] = closed[-1]
    return trees


def opened(command: list[str], scratch: Path) -> list[str]:
    """Give a command that sees closed trees in the open, and nothing else changed.

    On many machines root's Python lies in root's own home. In a mount namespace of
    its own the command finds an open directory there, with that Python in it.
    """
    steps = []
    for number, (tree, closed) in enumerate(closed_trees().items()):
        aside = scratch / f"tree-{number}"
        aside.mkdir()
        at, over, aside_at = map(shlex.quote, map(str, (tree, closed, aside)))
        steps += [
            f"mount --bind {at} {aside_at}",
            f"mountpoint -q {over} || mount -t tmpfs -o mode=755 tmpfs {over}",
            f"mkdir -p {at}",
            f"mount --bind {aside_at} {at}",
        ]
    if not steps:
        return command
    script = " && ".join([*steps, f"exec {shlex.join(command)}"])
    return ["unshare", "--mount", "sh", "-c", script]


@pytest.fixture
def as_nobody(open_tmp: Path) -> Iterator[AsNobody]:
    """Give a way to run the command as an account without rights."""
    if shutil.which("setpriv") is None or shutil.which("unshare") is None:
        pytest.skip("setpriv and unshare, of util-linux, are not here")
    home = open_tmp / "home"
    home.mkdir(mode=0o700)
    shutil.chown(home, NOBODY)
    account = pwd.getpwnam(NOBODY)
    become = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}"]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("XDG_")
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        scratch = open_tmp / str(len(list(open_tmp.iterdir())))
        scratch.mkdir()
        command = [*become, "--clear-groups", str(COMMAND), *arguments]
        return subprocess.run(
            opened(command, scratch),
            env=environment
            | {"HOME": str(home), "HEADRACE_STATE_DIR": f"{home}/state"},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    tried = run("--version")
    if tried.returncode != 0:
        pytest.skip(f"Python cannot be run as another account: {tried.stderr.strip()}")
    yield run
    run("down")


def test_a_plain_user_starts_looks_at_and_stops_servers(
    as_nobody: AsNobody, stack: Stack, open_tmp: Path
) -> None:
    cache = stack.site().settings.cache_dir
    assert open_to_others(cache)

    up = as_nobody("up", "redis", "postgres", "--format", "json")
    assert up.returncode == 0, up.stderr
    started = json.loads(up.stdout)
    users = {psutil.Process(process["pid"]).username() for process in started}
    run = open_tmp / "home" / "state" / "default"
    owners = {path.owner() for path in (run, *run.rglob("*"))}
    status = as_nobody("status", "--format", "json")
    down = as_nobody("down")

    assert [process["health"] for process in started] == ["healthy", "healthy"]
    assert users == {NOBODY}
    assert owners == {NOBODY}
    assert status.returncode == 0
    assert down.returncode == 0
    assert processes_in(open_tmp) == []


def test_a_plain_user_is_refused_another_users_servers(
    as_nobody: AsNobody, open_tmp: Path
) -> None:
    theirs = open_tmp / "theirs"
    theirs.mkdir(mode=0o700)
    (theirs / "run.json").write_text("{}")

    for command in ("status", "down", "up"):
        answer = as_nobody(command, "--dir", str(theirs))
        assert answer.returncode == 2
        assert "is not readable" in answer.stderr
    assert [path.name for path in theirs.iterdir()] == ["run.json"]
